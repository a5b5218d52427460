"""Compiled functions as Python builtins: 30 ns a call, where numba's own unpacking of five arrays takes 500.

A builtin gets its arguments as CPython passes them (METH_FASTCALL): addresses of objects. The functions here look into
arrays as C code does, by numpy's binary interface (PyArrayObject_fields), which is checked once, when this is imported.
An argument that is no C-contiguous, aligned float64 array of as many dimensions as wanted counts as an array of length
-1, which fits nothing: callers convert such input, or refuse it, and call again. The interpreter's lock is held
throughout, so a builtin is one step that no other thread can come between.
"""

from __future__ import annotations

import ctypes

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from hexapod_dynamics.compiled import kernel

# Words of an array object.
TYPE, DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS, WORDS = 1, 2, 3, 4, 7, 8, 9
REQUIRED = 0x0101  # of FLAGS: C-contiguous and aligned
LOW = 0xFFFFFFFF  # DIMENSIONS and FLAGS are C ints
METH_FASTCALL = 0x0080

# Words of RUNTIME, which every builtin is bound to: addresses that differ from process to process.
ARRAY_TYPE, FLOAT64, ABSENCE, MAKE_INTEGER, MAKE_FLOAT, RUNTIME_WORDS = range(6)
ABSENT = object()  # stands for an argument that is not there


def _function_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


RUNTIME = np.array(
    [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        id(ABSENT),
        _function_address("PyLong_FromLong"),
        _function_address("PyFloat_FromDouble"),
    ],
    dtype=np.int64,
)


def _check_layout() -> None:
    """Refuse a Python or numpy whose objects are laid out otherwise (free-threaded and debug builds)."""
    probe = np.zeros((2, 3))
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


@intrinsic
def floats_at(typing_context, address):
    """Pointer to numbers at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate


@intrinsic
def integers_at(typing_context, address):
    """Pointer to whole numbers at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def _make_integer(typing_context, maker, value):
    def generate(context, builder, signature, arguments):
        number = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(number, [number]).as_pointer())
        return builder.call(function, arguments[1:])

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _make_float(typing_context, maker, value):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [ir.DoubleType()])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.float64), generate


@kernel
def runtime_words(runtime):
    """Words of RUNTIME, from the object that a builtin is bound to."""
    return carray(integers_at(integers(runtime)), (RUNTIME_WORDS,))


@kernel
def integers(argument):
    """Address of an int64 array's numbers; for arrays of our own, not checked."""
    return carray(integers_at(argument), (WORDS,))[DATA]


@kernel
def given(arguments, count):
    """The arguments' addresses."""
    return carray(integers_at(arguments), (count,))


@kernel
def _fits(words, argument, dimensions):
    return (
        argument[TYPE] == words[ARRAY_TYPE]
        and argument[DTYPE] == words[FLOAT64]
        and argument[FLAGS] & REQUIRED == REQUIRED
        and argument[DIMENSIONS] & LOW == dimensions
    )


@kernel
def vector(words, argument):
    """An argument as an array of one dimension."""
    parts = carray(integers_at(argument), (WORDS,))
    if not _fits(words, parts, 1):
        return carray(floats_at(np.int64(0)), (np.int64(-1),))
    return carray(floats_at(parts[DATA]), (carray(integers_at(parts[SHAPE]), (1,))[0],))


@kernel
def matrix(words, argument):
    """An argument as an array of two dimensions."""
    parts = carray(integers_at(argument), (WORDS,))
    if not _fits(words, parts, 2):
        return carray(floats_at(np.int64(0)), (np.int64(-1), np.int64(-1)))
    shape = carray(integers_at(parts[SHAPE]), (2,))
    return carray(floats_at(parts[DATA]), (shape[0], shape[1]))


@kernel
def answer(words, status):
    """A status as the Python object that a builtin returns."""
    return _make_integer(words[MAKE_INTEGER], np.int64(status))


@kernel
def answer_number(words, value):
    """A number as the Python object that a builtin returns."""
    return _make_float(words[MAKE_FLOAT], value)
