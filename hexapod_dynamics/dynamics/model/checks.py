"""Converts the inputs of the whole-body model to arrays; errors name the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hexapod_dynamics.errors import DynamicsError

# Largest position [rad or m] of a joint, HD_FARTHEST_POSITION of hd_rotation.h. The reduction of angles by multiples of
# pi/2 (Cody and Waite) is exact up to here, with and without fused products; from 1e15 on its error is as large as the
# sine.
FARTHEST_POSITION = 1e6
ROTATION_TOLERANCE = 1e-6  # HD_ROTATION_TOLERANCE of native/include/hd_rotation.h


def is_rotation(rotation: np.ndarray) -> bool:
    """Whether a finite matrix (3, 3) is a rotation within ROTATION_TOLERANCE."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = rotation @ rotation.T - np.eye(3)
        return bool(np.all(np.abs(error) <= ROTATION_TOLERANCE) and np.linalg.det(rotation) > 0.0)


def check_positions(q: np.ndarray, names: Sequence[str]) -> None:
    """Raise a DynamicsError for joint positions (..., n) that are too far from zero; names: of the n joints."""
    if np.abs(q).max(initial=0.0) <= FARTHEST_POSITION:
        return
    worst = np.unravel_index(np.argmax(np.abs(q)), q.shape)
    raise DynamicsError(
        f"q: {q[worst]:.6g} of {names[int(worst[-1])]} given, at most {FARTHEST_POSITION:.0e} rad or m from zero are "
        "allowed; reduce the angle to one turn"
    )


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
