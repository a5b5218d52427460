"""Compiled functions as Python builtins: 30 ns a call, where numba's own unpacking of five arrays takes 500.

The functions here look into the arguments as C code does (python_builtin.py). An argument that is no C-contiguous,
aligned float64 array of as many dimensions as wanted counts as an array of length -1, which fits nothing: the builtin
returns None, and its caller converts or refuses the input, and calls again. What a builtin returns is made with the C
functions of numpy and Python. The interpreter's lock is held throughout: it is one step that no other thread can come
between.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.compiled import builtin_address, inline_kernel, inlined
from hexapod_dynamics.dynamics.late_intrinsics import (
    floats_at,
    from_float,
    from_integer,
    from_nothing,
    from_pair,
    integers_at,
    new_array,
    number_at,
    peek,
    set_item,
    write_at,
)
from hexapod_dynamics.python_builtin import (
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    LOW,
    REQUIRED,
    SHAPE,
    TYPE,
    WORDS,
    builtin_at,
    function_address,
    numpy_function,
)

__all__ = ["floats_at", "integers_at", "number_at", "peek", "write_at"]

# Words of RUNTIME, which every builtin is bound to: addresses that differ from process to process.
ARRAY_TYPE, FLOAT64, ABSENCE, NOTHING, NEW_ARRAY, MAKE_INTEGER, MAKE_FLOAT, KEEP, DROP = range(9)
NEW_TUPLE, SET_ITEM, GET_ITEM, NEW_DICT, SET_ENTRY, SET_BASE, RUNTIME_WORDS = range(9, 16)
ABSENT = object()  # stands for an argument that is not there
PY_ARRAY_NEW, PY_ARRAY_SET_BASE_OBJECT = 93, 282  # places in numpy's table of C functions

RUNTIME = np.array(
    [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        id(ABSENT),
        id(None),
        numpy_function(PY_ARRAY_NEW),
        *map(function_address, ("PyLong_FromLong", "PyFloat_FromDouble", "Py_IncRef", "Py_DecRef")),
        *map(function_address, ("PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem")),
        *map(function_address, ("PyDict_New", "PyDict_SetItem")),
        numpy_function(PY_ARRAY_SET_BASE_OBJECT),
    ],
    dtype=np.int64,
)
_made: dict[object, object] = {}


def builtin(function):
    """Return the builtin of an `entry` of (runtime, arguments, count), compiled or loaded on the first call."""
    if function not in _made:
        _made[function] = builtin_at(function.__name__, builtin_address(function), RUNTIME)
    return _made[function]


# ---- inside builtins -----------------------------------------------------------------------------------------------


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
    made = new_array(words[NEW_ARRAY], words[ARRAY_TYPE], (size,), np.int64(0))
    if made == 0:
        return made, floats_at(made, (made,))
    return made, floats_at(integers_at(made, (WORDS,))[DATA], (size,))


@inlined
def new_matrix(words, rows, columns):
    """A new object and the array of two dimensions in it, as `new_vector`."""
    made = new_array(words[NEW_ARRAY], words[ARRAY_TYPE], (rows, columns), np.int64(0))
    if made == 0:
        return made, floats_at(made, (made, made))
    return made, floats_at(integers_at(made, (WORDS,))[DATA], (rows, columns))


@inline_kernel
def answer(words, made, good):
    """What a builtin returns: the object that it made, or None where it did not compute."""
    if good or made == 0:
        return made
    from_integer(words[DROP], made)
    return refusal(words)


@inline_kernel
def refusal(words):
    """None, as a builtin returns it."""
    from_integer(words[KEEP], words[NOTHING])
    return words[NOTHING]


@inline_kernel
def integer_answer(words, value):
    """A whole number as a builtin returns it."""
    return from_integer(words[MAKE_INTEGER], np.int64(value))


@inline_kernel
def float_answer(words, value):
    """A number as a builtin returns it; None where it is not finite."""
    if value - value != 0.0:
        return refusal(words)
    return from_float(words[MAKE_FLOAT], value)


@inline_kernel
def new_tuple(words, size):
    """A new tuple to be filled by `put`; 0 without memory."""
    return from_integer(words[NEW_TUPLE], np.int64(size))


@inline_kernel
def put(words, made, index, item):
    """Fill a place of a new tuple with an object, which is then the tuple's."""
    set_item(words[SET_ITEM], made, np.int64(index), item)


@inline_kernel
def view(words, base, shape, first):
    """A new array of a shape on the numbers of another one, from a place on; 0 without memory."""
    data = integers_at(base, (WORDS,))[DATA] + 8 * first
    made = new_array(words[NEW_ARRAY], words[ARRAY_TYPE], shape, data)
    if made != 0:
        from_integer(words[KEEP], base)
        from_pair(words[SET_BASE], made, base)
    return made


@inline_kernel
def new_dict(words):
    """A new dict; 0 without memory."""
    return from_nothing(words[NEW_DICT])


@inline_kernel
def put_pair(words, made, names, index, first, second):
    """Put two objects, which are then the dict's, as a tuple under names[index]; whether it is done."""
    pair = new_tuple(words, 2)
    if pair == 0 or first == 0 or second == 0:
        return False
    put(words, pair, 0, first)
    put(words, pair, 1, second)
    set_item(words[SET_ENTRY], made, from_pair(words[GET_ITEM], names, np.int64(index)), pair)
    from_integer(words[DROP], pair)  # the dict keeps it
    return True
