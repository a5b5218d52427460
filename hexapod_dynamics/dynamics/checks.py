"""Converts the inputs of the whole-body model to arrays; errors name the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.errors import DynamicsError


def as_array(name: str, value: Any, shape: tuple[int, ...], what: str = "", ignored: Any = None) -> np.ndarray:
    """Return a float array of that shape, or a DynamicsError that names it; ignored: entries that are set to zero."""
    try:
        given = np.asarray(value)
        array = np.array(given, dtype=float, order="C")
    except (TypeError, ValueError):
        raise DynamicsError(f"{name}: {value!r} given, an array of shape {shape} needed") from None
    if np.iscomplexobj(given):
        raise DynamicsError(f"{name}: {given.tolist()} is complex, real numbers needed")
    if array.shape != shape:
        raise DynamicsError(f"{name}: shape {array.shape} given, {shape} needed{what}")
    if ignored is not None:
        array[ignored] = 0.0
    if not np.all(np.isfinite(array)):
        raise DynamicsError(f"{name}: {array.tolist()} has a value that is not finite")
    return array
