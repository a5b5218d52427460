"""Memory of numpy arrays for the compiled kernels, checked once when a kernel receives an array.

Compiled, the functions return addresses, so the caller must keep the arrays alive; uncompiled, they return the
arrays themselves, with named fields.
"""

import cython
import numpy as np

from hexapod_dynamics import kernel_layout
from hexapod_dynamics.errors import HexapodError

# Codes of the kinds of numbers in the buffer protocol.
FLOAT64, INT64 = ord("d"), ord("l")

if not cython.compiled:
    kernel_layout.warn_uncompiled()


def numbers(array, count):
    """Return the numbers of a float64 array; HexapodError unless it holds exactly `count` of them."""
    return cython.cast("double *", address_of(array, count, FLOAT64, None))


def values(array, count):
    """Return the numbers of a float64 array that is only read; HexapodError unless it holds exactly `count` of them."""
    return cython.cast("double *", address_of(array, count, FLOAT64, None, False))


def integers(array, count):
    """Return the numbers of an int64 array; HexapodError unless it holds exactly `count` of them."""
    return cython.cast("long long *", address_of(array, count, INT64, None))


def structs(array, layout, count):
    """Return a float64 array as `count` structs of a layout; HexapodError unless it holds exactly `count`."""
    return address_of(array, count * (layout.itemsize // 8), FLOAT64, layout)


def struct(array, layout):
    """Return a float64 array as one struct of a layout; HexapodError unless it has its size."""
    address = structs(array, layout, 1)
    if cython.compiled:
        return address
    else:
        row = kernel_layout.rows(array, layout)[0]
        return cython.cast("void *", row)


def address_of(array, count, kind, layout, written=True):
    """Return the memory of an array; HexapodError unless it consists of `count` contiguous numbers of a kind, and
    is writable if they are written.
    """
    if cython.compiled:
        # `buffer` and `view` are declared in the .pxd.
        flags = buffer.PyBUF_C_CONTIGUOUS | buffer.PyBUF_FORMAT  # type: ignore  # noqa: F821
        if written:
            flags |= buffer.PyBUF_WRITABLE  # type: ignore  # noqa: F821
        try:
            buffer.PyObject_GetBuffer(array, cython.address(view), flags)  # type: ignore  # noqa: F821
        except (BufferError, TypeError, ValueError):
            raise refusal(array, count, kind, written) from None
        fits = view.len == 8 * count and view.format[0] == kind and view.format[1] == 0  # type: ignore  # noqa: F821
        address = view.buf  # type: ignore  # noqa: F821
        buffer.PyBuffer_Release(cython.address(view))  # type: ignore  # noqa: F821
        if not fits:
            raise refusal(array, count, kind, written)
        return address
    else:
        fits = array.dtype.char == chr(kind) and array.size == count
        if not (fits and array.flags.c_contiguous and (array.flags.writeable or not written)):
            raise refusal(array, count, kind, written)
        rows = array.reshape(-1) if layout is None else kernel_layout.rows(array, layout)
        return cython.cast("void *", rows)


def refusal(array, count, kind, written):
    """Return the HexapodError of an array that does not fit."""
    given = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
    wanted = "float64" if kind == FLOAT64 else "int64"
    state = "writable, contiguous" if written else "contiguous"
    return HexapodError(f"given {given}, allowed is a {state} {wanted} array of {count} numbers")
