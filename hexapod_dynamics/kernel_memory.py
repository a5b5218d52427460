"""Memory of numpy arrays for the compiled kernels, checked once where a kernel takes an array.

Compiled, the functions return addresses, so the caller keeps the arrays; else the arrays themselves, with named fields.
"""

import cython
import numpy as np

from hexapod_dynamics import kernel_layout
from hexapod_dynamics.errors import HexapodError


def check_array(array, count, kind):
    """Raise HexapodError unless the array holds exactly `count` numbers of a kind in a row that may be written."""
    fits = isinstance(array, np.ndarray) and array.dtype == kind and array.size == count
    if not (fits and array.flags.c_contiguous and array.flags.writeable):
        given = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise HexapodError(f"given {given}, allowed is a writable, contiguous {kind.__name__} array of {count} numbers")


def numbers(array, count):
    """Return the numbers of a float64 array; HexapodError unless it holds exactly `count` of them."""
    check_array(array, count, np.float64)
    return cython.cast("double *", address_of(array, None))


def integers(array, count):
    """Return the numbers of an int64 array; HexapodError unless it holds exactly `count` of them."""
    check_array(array, count, np.int64)
    return cython.cast("long long *", address_of(array, None))


def structs(array, layout, count):
    """Return a float64 array as `count` structs of a layout; HexapodError unless it holds exactly so many."""
    check_array(array, count * (layout.itemsize // 8), np.float64)
    return address_of(array, layout)


def struct(array, layout):
    """Return a float64 array as one struct of a layout; HexapodError unless it has its size."""
    check_array(array, layout.itemsize // 8, np.float64)
    if cython.compiled:
        return address_of(array, layout)
    else:
        row = kernel_layout.rows(array, layout)[0]
        return cython.cast("void *", row)


def address_of(array, layout):
    """Return the memory of a contiguous array."""
    if cython.compiled:
        # `buffer` and `view` are of the .pxd.
        buffer.PyObject_GetBuffer(array, cython.address(view), buffer.PyBUF_SIMPLE)  # type: ignore  # noqa: F821
        address = view.buf  # type: ignore  # noqa: F821
        buffer.PyBuffer_Release(cython.address(view))  # type: ignore  # noqa: F821
        return address
    else:
        rows = array.reshape(-1) if layout is None else kernel_layout.rows(array, layout)
        return cython.cast("void *", rows)
