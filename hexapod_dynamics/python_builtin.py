"""Machine code as Python builtins, and what such code needs to know of this process.

A builtin gets its arguments as CPython passes them (METH_FASTCALL): addresses of objects. Compiled code looks into them
as C code does, by the binary interfaces of CPython and numpy, which are checked once, when this is imported.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

# Words of an array object.
TYPE, DATA, DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS, WORDS = 1, 2, 3, 4, 5, 7, 8, 9
REQUIRED = 0x0101  # of FLAGS: C-contiguous and aligned
LOW = 0xFFFFFFFF  # DIMENSIONS and FLAGS are C ints
METH_FASTCALL = 0x0080
# Bytes from the start of an object: a number's value, a tuple's length and items, a type's flags, a dtype's byte order
# and number.
VALUE, LENGTH, ITEMS, TYPE_FLAGS, BYTE_ORDER, TYPE_NUMBER = 16, 16, 24, 168, 26, 28
TUPLE_SUBCLASS = 1 << 26  # of a type's flags


def function_address(name: str) -> int:
    """Address of a C function of Python."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    if address is None:
        raise ImportError(f"Python has no C function {name}")
    return address


def numpy_function(place: int) -> int:
    """Address of a C function of numpy, by its place in numpy's table."""
    core: Any = import_module("numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = pointer_of(core._multiarray_umath._ARRAY_API, None)
    return (ctypes.c_int64 * (place + 1)).from_address(functions)[place]


def _words(value: object, count: int = WORDS) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(id(value)))


def _arrays_are_known() -> bool:
    probe, order = np.zeros((2, 3)), ctypes.c_char.from_address(id(np.dtype(np.float64)) + BYTE_ORDER).value
    number = ctypes.c_int32.from_address(id(np.dtype(np.float64)) + TYPE_NUMBER).value
    words = _words(probe)
    shape, strides = ((ctypes.c_int64 * 2).from_address(int(words[place])) for place in (SHAPE, STRIDES))
    expected = id(np.ndarray), probe.ctypes.data, id(probe.dtype)
    return (
        tuple(words[[TYPE, DATA, DTYPE]]) == expected
        and words[DIMENSIONS] & LOW == 2
        and (tuple(shape), tuple(strides)) == ((2, 3), (24, 8))
        and int(words[FLAGS]) & REQUIRED == REQUIRED
        and (order, number) == (b"=", np.dtype(np.float64).num)
    )


def _objects_are_known() -> bool:
    pair = (1.5, None)
    words = _words(pair, 5)
    return (
        object.__basicsize__ == VALUE
        and words[LENGTH // 8] == 2
        and tuple(words[ITEMS // 8 :]) == (id(pair[0]), id(None))
        and ctypes.c_double.from_address(id(pair[0]) + VALUE).value == 1.5
        and ctypes.c_double.from_address(id(probe := np.float64(2.5)) + VALUE).value == probe
        and ctypes.c_uint64.from_address(id(tuple) + TYPE_FLAGS).value == tuple.__flags__
    )


def check_layout() -> None:
    """Refuse a Python or numpy whose objects are laid out otherwise (free-threaded and debug builds)."""
    if not (_objects_are_known() and _arrays_are_known()):
        raise ImportError(
            f"numpy {np.__version__} on this Python lays its arrays out in a way that the whole-body model does not "
            "know; use a standard 64-bit build of CPython (not a free-threaded or debug one)"
        )


check_layout()


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_definitions: list[_Definition] = []  # they have to stay where they are as long as a builtin may be called
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


def builtin_at(name: str, address: int, bound: np.ndarray) -> Callable[..., Any]:
    """The builtin of the machine code at an address, of (bound, arguments, count)."""
    definition = _Definition(name.encode(), address, METH_FASTCALL, None)
    _definitions.append(definition)
    made: Callable[..., Any] = _new_function(ctypes.addressof(definition), bound, None)
    return made


# Words that the builtin of a kernel is bound to (kernel_linking.py): objects whose addresses differ from process to
# process, and what is called with the arguments where no signature fits.
KERNEL_WORDS = ("array", "float", "float64", "int", "int64", "bool_", "true", "false", "none", "otherwise")
_OBJECTS = (np.ndarray, float, np.float64, int, np.int64, np.bool_, True, False, None)


def kernel_builtin(name: str, address: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The builtin of a kernel; `otherwise` has to live as long as it."""
    return builtin_at(name, address, np.array([*map(id, _OBJECTS), id(otherwise)], dtype=np.int64))
