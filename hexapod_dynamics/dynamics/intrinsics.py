"""What compiled code does that Python cannot say: single instructions for numba. late_intrinsics.py names them.

They need the compiler, so nothing imports this module before code is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

NPY_DOUBLE, NPY_ARRAY_CARRAY = 12, 0x0501


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
def named(typing_context, address, kind):
    """Named tuple of a kind, from the whole numbers at an address; what is not used is not even loaded.

    numba's to_fixed_tuple goes through a list of all of them, which takes longer than a leg's dynamics.
    """

    def generate(context, builder, signature, arguments):
        words = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        values = [builder.load(builder.gep(words, [ir.IntType(64)(i)])) for i in range(len(signature.return_type))]
        return context.make_tuple(builder, signature.return_type, values)

    named = kind.instance_class
    return types.NamedUniTuple(types.int64, len(named._fields), named)(address, kind), generate


@intrinsic
def move(typing_context, address, states, row, memory, places):
    """Call `spread` or `collect`."""

    def generate(context, builder, signature, arguments):
        number = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [number] * 4).as_pointer()
        builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def fetch_line(typing_context, address):
    """Ask for the cache line at an address, which may be any."""

    def generate(context, builder, signature, arguments):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, *[ir.IntType(32)] * 3])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, nearest, data = (ir.IntType(32)(value) for value in (0, 3, 1))
        builder.call(fetch, [builder.inttoptr(arguments[0], pointer), to_read, nearest, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


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


def _array_at(dtype):
    @intrinsic
    def array(typing_context, address, shape):
        kind = types.Array(dtype, shape.count, "C")

        def generate(context, builder, signature, arguments):
            item = context.get_data_type(dtype)
            size = context.get_constant(types.intp, context.get_abi_sizeof(item))
            sizes, strides = cgutils.unpack_tuple(builder, arguments[1]), [size]
            for length in reversed(sizes[1:]):
                strides.insert(0, builder.mul(strides[0], length))
            made = make_array(kind)(context, builder)
            data = builder.inttoptr(arguments[0], item.as_pointer())
            populate_array(made, data=data, shape=sizes, strides=strides, itemsize=size, meminfo=None)
            return made._getvalue()

        return kind(types.int64, shape), generate

    return array


floats_at = _array_at(types.float64)  # (address, shape): the array of numbers that lies there
integers_at = _array_at(types.int64)


@intrinsic
def peek(typing_context, lanes, block, row, lane):
    """lanes[block, row, lane] without a look whether an index is negative, which takes longer than to load."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        array = make_array(kind)(context, builder, arguments[0])
        shape = cgutils.unpack_tuple(builder, array.shape)
        index = builder.add(builder.mul(arguments[1], shape[1]), arguments[2])
        index = builder.add(builder.mul(index, shape[2]), arguments[3])
        return builder.load(builder.gep(array.data, [index]))

    whole = types.int64
    return lanes.dtype(lanes, whole, whole, whole), generate


@intrinsic
def number_at(typing_context, address, index):
    """The number at a place of an array at an address."""

    def generate(context, builder, signature, arguments):
        numbers = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(numbers, [arguments[1]]))

    return types.float64(types.int64, types.int64), generate


@intrinsic
def write_at(typing_context, address, index, value):
    """Write a number to a place of an array at an address."""

    def generate(context, builder, signature, arguments):
        numbers = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        builder.store(arguments[2], builder.gep(numbers, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), generate


def _calling(result, *parameters):
    """Intrinsic that calls the C function at an address."""

    def typed(signature):
        def generate(context, builder, _, arguments):
            kinds = [context.get_value_type(kind) for kind in signature.args[1:]]
            function = ir.FunctionType(context.get_value_type(signature.return_type), kinds).as_pointer()
            return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

        return signature, generate

    signature = result(types.int64, *parameters)

    def call_0(typing_context, address):
        return typed(signature)

    def call_2(typing_context, address, first, second):
        return typed(signature)

    def call_1(typing_context, address, first):
        return typed(signature)

    def call_3(typing_context, address, first, second, third):
        return typed(signature)

    return intrinsic((call_0, call_1, call_2, call_3)[len(parameters)])


from_nothing = _calling(types.int64)
from_pair = _calling(types.int64, types.int64, types.int64)
from_integer = _calling(types.int64, types.int64)
from_float = _calling(types.int64, types.float64)
set_item = _calling(types.int64, types.int64, types.int64, types.int64)


@intrinsic
def new_array(typing_context, maker, array_type, shape, data):
    """Call PyArray_New: address of an array of float64, new (data 0) or on the numbers at an address.

    Without memory it is 0, with MemoryError set.
    """

    def generate(context, builder, signature, arguments):
        whole, half = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(whole, [whole, half, whole.as_pointer(), half, whole, whole, half, half, whole])
        maker, array_type, shape, data = arguments
        sizes = cgutils.unpack_tuple(builder, shape)
        room = cgutils.alloca_once(builder, whole, size=len(sizes))
        for index, size in enumerate(sizes):
            builder.store(size, builder.gep(room, [whole(index)]))
        flags = builder.select(builder.icmp_signed("==", data, whole(0)), half(0), half(NPY_ARRAY_CARRAY))
        what = array_type, half(len(sizes)), room, half(NPY_DOUBLE), whole(0)
        return builder.call(builder.inttoptr(maker, kind.as_pointer()), [*what, data, half(0), flags, whole(0)])

    return types.int64(types.int64, types.int64, shape, types.int64), generate
