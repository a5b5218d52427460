"""Converts what callers give to arrays; errors name the argument, what was given and what is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DynamicsError, HexapodError, shorten

FLOAT = np.dtype(float)


def as_floats(
    name: str, value: npt.ArrayLike, needed: str, error: type[HexapodError] = DynamicsError, *, copy: bool = False
) -> np.ndarray:
    """Return a C-ordered float array of any shape, or an error that names it and says what is needed, where {value}
    stands for what was given: its text is long to write, and written for an error only.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind in "cSU":  # numpy would convert text, and only warn of complex numbers
            needed = "complex numbers given, real numbers needed" if np.iscomplexobj(given) else needed
            raise TypeError
        return np.array(given, dtype=float, order="C") if copy else np.ascontiguousarray(given, dtype=float)
    except (TypeError, ValueError):
        raise error(f"{name}: {needed.format(value=shorten(repr(value)))}") from None


def as_numbers(
    name: str,
    value: npt.ArrayLike,
    shape: tuple[int, ...],
    what: str = "",
    error: type[HexapodError] = DynamicsError,
    *,
    copy: bool = False,
) -> np.ndarray:
    """Return a C-ordered float array of that shape, NaN where a number is not known, or an error that names it.

    An array of that form is returned as it is, unless copied, in 0.1 us: the robot's program gives such.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.c_contiguous:
        return value.copy() if copy else value
    array = as_floats(name, value, f"{{value}} given, an array of shape {shape} needed", error, copy=copy)
    if array.shape != shape:
        raise error(f"{name}: shape {array.shape} given, {shape} needed{what}")
    return array


def as_mask(name: str, value: npt.ArrayLike, count: int) -> np.ndarray:
    """Return an array (count,) of booleans, or a DynamicsError that names it."""
    mask = np.asarray(value)
    if mask.shape != (count,) or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        raise DynamicsError(f"{name}: {shorten(repr(value))} given, an array ({count},) of True and False needed")
    return mask.astype(bool)


def check_vector(name: str, value: Sequence[float]) -> None:
    """Raise DynamicsError unless the value is a sequence of three finite numbers."""
    try:
        x, y, z = value
        if math.isfinite(x + y + z):
            return
    except (TypeError, ValueError):
        pass
    raise DynamicsError(f"{name}: {shorten(repr(value))} given, three finite numbers needed")


def as_array(
    name: str,
    value: npt.ArrayLike,
    shape: tuple[int, ...],
    what: str = "",
    ignored: np.ndarray | None = None,
    error: type[HexapodError] = DynamicsError,
) -> np.ndarray:
    """Return a copy of `as_numbers`, of finite numbers; ignored: mask of the last axis, set to zero."""
    array = as_numbers(name, value, shape, what, error, copy=True)
    if ignored is not None:
        array[..., ignored] = 0.0
    if not np.isfinite(array).all():
        raise error(f"{name}: {array.tolist()} has a value that is not finite")
    return array
