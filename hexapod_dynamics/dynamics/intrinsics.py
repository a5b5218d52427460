"""What compiled code does that Python cannot say: single instructions for numba. late_intrinsics.py names them.

They need the compiler, so nothing imports this module before code is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def call_kernel(typing_context, address, block, shared):
    """Call the kernel at an address with two addresses."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        builder.call(
            builder.inttoptr(arguments[0], function), [builder.inttoptr(value, pointer) for value in arguments[1:]]
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def borrowed(typing_context, value):
    """Return an array, or a tuple of arrays and tuples, without ownership: compiled code counts no references to it.

    Counting costs more than a whole step when it is done for each array at each call, and atomically, so threads wait
    for each other. The caller's own references keep the arrays alive as long as its function runs.
    """

    def strip(context: Any, builder: Any, kind: Any, item: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, item)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            parts = cgutils.unpack_tuple(builder, item, len(kind))
            stripped = [strip(context, builder, *pair) for pair in zip(kind.types, parts, strict=True)]
            return context.make_tuple(builder, kind, stripped)
        return item

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return strip(context, builder, signature.args[0], arguments[0])

    return value(value), generate
