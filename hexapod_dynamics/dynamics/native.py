"""Compiled functions as Python builtins: 30 ns a call, where numba's own unpacking of five arrays takes 500.

A builtin gets its arguments as CPython passes them (METH_FASTCALL): addresses of objects. The functions here look into
arrays as C code does, by numpy's binary interface (PyArrayObject_fields), which is checked once, when this is imported.
An argument that is no C-contiguous, aligned float64 array of as many dimensions as wanted counts as an array of length
-1, which fits nothing: the builtin returns None, and its caller converts or refuses the input, and calls again. What a
builtin returns is made with the C functions of numpy and Python. The interpreter's lock is held throughout: it is
one step that no other thread can come between.
"""

from __future__ import annotations

import ctypes
from importlib import import_module

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from hexapod_dynamics.compiled import inline_kernel, inlined

# Words of an array object.
TYPE, DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS, WORDS = 1, 2, 3, 4, 7, 8, 9
REQUIRED = 0x0101  # of FLAGS: C-contiguous and aligned
LOW = 0xFFFFFFFF  # DIMENSIONS and FLAGS are C ints
METH_FASTCALL = 0x0080

# Words of RUNTIME, which every builtin is bound to: addresses that differ from process to process.
ARRAY_TYPE, FLOAT64, ABSENCE, NOTHING, NEW_ARRAY, MAKE_INTEGER, MAKE_FLOAT, KEEP, DROP = range(9)
NEW_TUPLE, SET_ITEM, GET_ITEM, NEW_DICT, SET_ENTRY, SET_BASE, RUNTIME_WORDS = range(9, 16)
ABSENT = object()  # stands for an argument that is not there
PY_ARRAY_NEW, PY_ARRAY_SET_BASE_OBJECT = 93, 282  # places in numpy's table of C functions
NPY_DOUBLE, NPY_ARRAY_CARRAY = 12, 0x0501


def _function_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _numpy_function(place: int) -> int:
    """Address of a C function of numpy."""
    core = import_module("numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = pointer_of(core._multiarray_umath._ARRAY_API, None)
    return (ctypes.c_int64 * (place + 1)).from_address(functions)[place]


RUNTIME = np.array(
    [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        id(ABSENT),
        id(None),
        _numpy_function(PY_ARRAY_NEW),
        *map(_function_address, ("PyLong_FromLong", "PyFloat_FromDouble", "Py_IncRef", "Py_DecRef")),
        *map(_function_address, ("PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem")),
        *map(_function_address, ("PyDict_New", "PyDict_SetItem")),
        _numpy_function(PY_ARRAY_SET_BASE_OBJECT),
    ],
    dtype=np.int64,
)


def _made_by_numpy() -> np.ndarray:
    """Array (2, 3) that PyArray_New makes."""
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, number, pointer, number, pointer, pointer, number, number, pointer
    )
    shape = np.array([2, 3])
    return kind(int(RUNTIME[NEW_ARRAY]))(np.ndarray, 2, shape.ctypes.data, NPY_DOUBLE, None, None, 0, 0, None)


def _check_layout() -> None:
    """Refuse a Python or numpy whose objects are laid out otherwise (free-threaded and debug builds)."""
    probe = _made_by_numpy()
    if object.__basicsize__ == 16:
        words = np.ctypeslib.as_array((ctypes.c_int64 * WORDS).from_address(id(probe)))
        shape = (ctypes.c_int64 * 2).from_address(int(words[SHAPE])) if words[DIMENSIONS] & LOW == 2 else ()
        expected = id(np.ndarray), probe.ctypes.data, id(probe.dtype)
        flags = int(words[FLAGS]) & REQUIRED
        if tuple(words[[TYPE, DATA, DTYPE]]) == expected and tuple(shape) == (2, 3) and flags == REQUIRED:
            return
    raise ImportError(
        f"numpy {np.__version__} on this Python lays its arrays out in a way that the whole-body model does not know; "
        "use a standard 64-bit build of CPython (not a free-threaded or debug one)"
    )


_check_layout()


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_made: dict[object, tuple] = {}  # definitions have to stay where they are as long as a builtin may be called
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


def builtin(function):
    """Return the builtin of an `entry` of (runtime, arguments, count), compiled or loaded on the first call."""
    if function not in _made:
        if not function.signatures:
            function.compile(types.int64(types.int64, types.int64, types.int64))
            function.disable_compile()
        (result,) = function.overloads.values()
        address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
        definition = _Definition(function.__name__.encode(), address, METH_FASTCALL, None)
        _made[function] = definition, _new_function(ctypes.addressof(definition), RUNTIME, None)
    return _made[function][1]


# ---- inside builtins -----------------------------------------------------------------------------------------------


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


_from_nothing = _calling(types.int64)
_from_pair = _calling(types.int64, types.int64, types.int64)
_from_integer = _calling(types.int64, types.int64)
_from_float = _calling(types.int64, types.float64)
_set_item = _calling(types.int64, types.int64, types.int64, types.int64)


@intrinsic
def _new_array(typing_context, maker, array_type, shape, data):
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


@inlined
def runtime_words(runtime):
    """Words of RUNTIME, from the object that a builtin is bound to."""
    return integers_at(integers(runtime), (RUNTIME_WORDS,))


@inline_kernel
def integers(argument):
    """Address of an int64 array's numbers; for arrays of our own, not checked."""
    return integers_at(argument, (WORDS,))[DATA]


@inlined
def given(arguments, count):
    """The arguments' addresses."""
    return integers_at(arguments, (count,))


@inline_kernel
def _fits(words, argument, dimensions):
    return (
        argument[TYPE] == words[ARRAY_TYPE]
        and argument[DTYPE] == words[FLOAT64]
        and argument[FLAGS] & REQUIRED == REQUIRED
        and argument[DIMENSIONS] & LOW == dimensions
    )


@inlined
def vector(words, argument):
    """An argument as an array of one dimension."""
    parts = integers_at(argument, (WORDS,))
    if not _fits(words, parts, 1):
        return floats_at(np.int64(0), (np.int64(-1),))
    return floats_at(parts[DATA], (integers_at(parts[SHAPE], (1,))[0],))


@inlined
def matrix(words, argument):
    """An argument as an array of two dimensions."""
    parts = integers_at(argument, (WORDS,))
    if not _fits(words, parts, 2):
        return floats_at(np.int64(0), (np.int64(-1), np.int64(-1)))
    shape = integers_at(parts[SHAPE], (2,))
    return floats_at(parts[DATA], (shape[0], shape[1]))


@inlined
def new_vector(words, size):
    """A new object and the array in it; without memory: 0, and an array of length 0."""
    made = _new_array(words[NEW_ARRAY], words[ARRAY_TYPE], (size,), np.int64(0))
    if made == 0:
        return made, floats_at(made, (made,))
    return made, floats_at(integers_at(made, (WORDS,))[DATA], (size,))


@inlined
def new_matrix(words, rows, columns):
    """A new object and the array of two dimensions in it, as `new_vector`."""
    made = _new_array(words[NEW_ARRAY], words[ARRAY_TYPE], (rows, columns), np.int64(0))
    if made == 0:
        return made, floats_at(made, (made, made))
    return made, floats_at(integers_at(made, (WORDS,))[DATA], (rows, columns))


@inline_kernel
def answer(words, made, good):
    """What a builtin returns: the object that it made, or None where it did not compute."""
    if good or made == 0:
        return made
    _from_integer(words[DROP], made)
    return refusal(words)


@inline_kernel
def refusal(words):
    """None, as a builtin returns it."""
    _from_integer(words[KEEP], words[NOTHING])
    return words[NOTHING]


@inline_kernel
def integer_answer(words, value):
    """A whole number as a builtin returns it."""
    return _from_integer(words[MAKE_INTEGER], np.int64(value))


@inline_kernel
def float_answer(words, value):
    """A number as a builtin returns it; None where it is not finite."""
    if value - value != 0.0:
        return refusal(words)
    return _from_float(words[MAKE_FLOAT], value)


@inline_kernel
def new_tuple(words, size):
    """A new tuple to be filled by `put`; 0 without memory."""
    return _from_integer(words[NEW_TUPLE], np.int64(size))


@inline_kernel
def put(words, made, index, item):
    """Fill a place of a new tuple with an object, which is then the tuple's."""
    _set_item(words[SET_ITEM], made, np.int64(index), item)


@inline_kernel
def view(words, base, shape, first):
    """A new array of a shape on the numbers of another one, from a place on; 0 without memory."""
    data = integers_at(base, (WORDS,))[DATA] + 8 * first
    made = _new_array(words[NEW_ARRAY], words[ARRAY_TYPE], shape, data)
    if made != 0:
        _from_integer(words[KEEP], base)
        _from_pair(words[SET_BASE], made, base)
    return made


@inline_kernel
def new_dict(words):
    """A new dict; 0 without memory."""
    return _from_nothing(words[NEW_DICT])


@inline_kernel
def put_pair(words, made, names, index, first, second):
    """Put two objects, which are then the dict's, as a tuple under names[index]; whether it is done."""
    pair = new_tuple(words, 2)
    if pair == 0 or first == 0 or second == 0:
        return False
    put(words, pair, 0, first)
    put(words, pair, 1, second)
    _set_item(words[SET_ENTRY], made, _from_pair(words[GET_ITEM], names, np.int64(index)), pair)
    _from_integer(words[DROP], pair)  # the dict keeps it
    return True
