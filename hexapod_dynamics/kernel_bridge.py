"""The machine code between Python's objects and a kernel's native values; kernel_linking.py makes builtins of it.

What CPython and numpy lay out in memory is read directly (python_builtin.py checks it); nothing of numba is called.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from hexapod_dynamics import python_builtin

WORD, HALF, BYTE, DOUBLE = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.DoubleType()
CONTIGUOUS, FORTRAN, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # an array's flags
BY_LAYOUT = {"C": CONTIGUOUS, "F": FORTRAN, "A": 0}


def taken(kind: Any) -> bool:
    """Whether builtins take arguments of a numba type."""
    if isinstance(kind, types.BaseTuple):
        return all(map(taken, kind.types))
    return isinstance(kind, types.Array) or kind in (types.float64, types.int64, types.boolean)


def returned(kind: Any) -> bool:
    """Whether builtins return a numba type."""
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return all(map(returned, kind.types))
    whole = isinstance(kind, types.Integer) and kind.signed
    return whole or kind in (types.float64, types.boolean, types.none)


class Bridge:
    """Writes one signature's instructions: the arguments' values, or a branch to where the next signature is tried."""

    def __init__(self, context: Any, builder: Any, bound: Any, unfit: Any) -> None:
        self.context, self.builder, self.unfit = context, builder, unfit
        self._words = self.load(bound, 8 * python_builtin.DATA)

    def load(self, address: Any, offset: int, kind: Any = WORD) -> Any:
        """What lies so many bytes behind an address."""
        builder = self.builder
        return builder.load(builder.inttoptr(builder.add(address, WORD(offset)), kind.as_pointer()))

    def word(self, name: str) -> Any:
        """One of KERNEL_WORDS."""
        return self.load(self._words, 8 * python_builtin.KERNEL_WORDS.index(name))

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a C function of Python."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def require(self, condition: Any) -> None:
        """Go on only where the condition holds."""
        builder = self.builder
        onward = builder.append_basic_block()
        builder.cbranch(condition, onward, self.unfit)
        builder.position_at_end(onward)

    def _is(self, value: Any, *names: str) -> Any:
        """Whether a word is one of these of KERNEL_WORDS."""
        builder, found = self.builder, ir.IntType(1)(0)
        for name in names:
            found = builder.or_(found, builder.icmp_unsigned("==", value, self.word(name)))
        return found

    def value(self, kind: Any, item: Any) -> Any:
        """The native value of an object for a numba type that is `taken`."""
        if isinstance(kind, types.Array):
            return self._array(kind, item)
        if isinstance(kind, types.BaseTuple):
            return self._tuple(kind, item)
        builder = self.builder
        type_ = self.load(item, 8)
        if kind == types.float64:
            return self._float(type_, item)
        if kind == types.int64:
            exact, place = self._is(type_, "int"), cgutils.alloca_once(builder, WORD)
            self.require(builder.or_(exact, self._is(type_, "int64")))
            builder.store(self.load(item, python_builtin.VALUE), place)
            self._convert(exact, item, lambda whole: builder.store(whole, place))
            return builder.load(place)
        truth, place = self._is(item, "true"), cgutils.alloca_once(builder, ir.IntType(1))
        scalar = self._is(type_, "bool_")
        self.require(builder.or_(scalar, builder.or_(truth, self._is(item, "false"))))
        builder.store(truth, place)
        with builder.if_then(scalar):
            builder.store(builder.trunc(self.load(item, python_builtin.VALUE, BYTE), ir.IntType(1)), place)
        return builder.load(place)

    def _convert(self, whole: Any, item: Any, store: Any) -> None:
        """Where an object is Python's int: store its value, which has to fit into 64 bits."""
        builder, overflow = self.builder, cgutils.alloca_once(self.builder, HALF)
        builder.store(HALF(0), overflow)
        with builder.if_then(whole):
            store(self.call("PyLong_AsLongAndOverflow", WORD, item, builder.ptrtoint(overflow, WORD)))
        self.require(builder.icmp_unsigned("==", builder.load(overflow), HALF(0)))

    def _float(self, type_: Any, item: Any) -> Any:
        """A float's number; an int's too, for which numba would compile the function once more."""
        builder, place = self.builder, cgutils.alloca_once(self.builder, DOUBLE)
        whole = self._is(type_, "int")
        self.require(builder.or_(whole, self._is(type_, "float", "float64")))
        builder.store(self.load(item, python_builtin.VALUE, DOUBLE), place)
        self._convert(whole, item, lambda number: builder.store(builder.sitofp(number, DOUBLE), place))
        return builder.load(place)

    def _tuple(self, kind: Any, item: Any) -> Any:
        builder = self.builder
        flags = self.load(self.load(item, 8), python_builtin.TYPE_FLAGS)
        self.require(builder.icmp_unsigned("!=", builder.and_(flags, WORD(python_builtin.TUPLE_SUBCLASS)), WORD(0)))
        self.require(builder.icmp_unsigned("==", self.load(item, python_builtin.LENGTH), WORD(len(kind.types))))
        parts = [
            self.value(part, self.load(item, python_builtin.ITEMS + 8 * place)) for place, part in enumerate(kind.types)
        ]
        return self.context.make_tuple(builder, kind, parts)

    def _array(self, kind: Any, item: Any) -> Any:
        builder, dtype = self.builder, as_dtype(kind.dtype)
        self.require(self._is(self.load(item, 8), "array"))
        description = self.load(item, 8 * python_builtin.DTYPE)
        number = self.load(description, python_builtin.TYPE_NUMBER, HALF)
        order = self.load(description, python_builtin.BYTE_ORDER, BYTE)
        self.require(builder.icmp_unsigned("==", number, HALF(dtype.num)))
        self.require(builder.icmp_unsigned("==", order, BYTE(ord(dtype.byteorder))))
        dimensions = self.load(item, 8 * python_builtin.DIMENSIONS, HALF)
        self.require(builder.icmp_unsigned("==", dimensions, HALF(kind.ndim)))
        needed = BY_LAYOUT[kind.layout] | (ALIGNED if kind.aligned else 0) | (WRITEABLE if kind.mutable else 0)
        flags = builder.and_(self.load(item, 8 * python_builtin.FLAGS, HALF), HALF(needed))
        self.require(builder.icmp_unsigned("==", flags, HALF(needed)))
        sizes, steps = (self.load(item, 8 * place) for place in (python_builtin.SHAPE, python_builtin.STRIDES))
        made = make_array(kind)(self.context, builder)
        data = self.context.get_data_type(kind.dtype).as_pointer()
        populate_array(
            made,
            data=builder.inttoptr(self.load(item, 8 * python_builtin.DATA), data),
            shape=[self.load(sizes, 8 * axis) for axis in range(kind.ndim)],
            strides=[self.load(steps, 8 * axis) for axis in range(kind.ndim)],
            itemsize=self.context.get_constant(types.intp, dtype.itemsize),
            meminfo=None,
        )
        return made._getvalue()

    def passed_on(self, items: Any, count: Any) -> Any:
        """What the callable of the word "otherwise" returns for so many objects; 0 with its exception."""
        builder = self.builder
        given = self.call("PyTuple_New", WORD, count)
        with cgutils.for_range(builder, count) as loop:
            step = builder.mul(loop.index, WORD(8))
            item = self.load(builder.add(items, step), 0)
            self.call("Py_IncRef", ir.VoidType(), item)
            self._store(builder.add(given, step), python_builtin.ITEMS, item)
        result = self.call("PyObject_Call", WORD, self.word("otherwise"), given, WORD(0))
        self.call("Py_DecRef", ir.VoidType(), given)
        return result

    def _store(self, address: Any, offset: int, value: Any) -> None:
        builder = self.builder
        builder.store(value, builder.inttoptr(builder.add(address, WORD(offset)), value.type.as_pointer()))

    def boxed(self, kind: Any, value: Any) -> Any:
        """A new object of a native value of a type that is `returned`."""
        builder = self.builder
        if kind == types.float64:
            return self.call("PyFloat_FromDouble", WORD, value)
        if isinstance(kind, types.Integer) and kind.signed:
            return self.call("PyLong_FromLong", WORD, builder.sext(value, WORD) if value.type != WORD else value)
        if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
            made = self.call("PyTuple_New", WORD, WORD(len(kind.types)))
            for place, (part, item) in enumerate(zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)):
                self._store(made, python_builtin.ITEMS + 8 * place, self.boxed(part, item))
            return made
        known = self.word("none")
        if kind == types.boolean:
            known = builder.select(builder.trunc(value, ir.IntType(1)), self.word("true"), self.word("false"))
        self.call("Py_IncRef", ir.VoidType(), known)
        return known
