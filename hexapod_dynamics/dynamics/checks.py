"""Converts the inputs of the whole-body model to arrays; errors name the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import cast

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core._core import FARTHEST_POSITION, is_rotation
from hexapod_dynamics.errors import DynamicsError, require_instance, shorten
from hexapod_dynamics.robot import Morphology, Robot

FLOAT = np.dtype(float)


def require_robot(robot: object) -> Robot:
    """Return a robot; DynamicsError for anything else."""
    require_instance("robot", robot, Robot, DynamicsError)
    return cast(Robot, robot)


def check_robot(robot: Robot, morphology: object, name: str = "morphology") -> None:
    """Raise DynamicsError unless `morphology` is one of this robot; name: of the argument."""
    require_instance(name, morphology, Morphology, DynamicsError)
    morphology = cast(Morphology, morphology)
    if morphology.robot is not robot and morphology.robot != robot:
        raise DynamicsError(
            f"morphology of robot {morphology.robot.name!r} given to the model of {robot.name!r}; "
            "make it from the model's own robot"
        )


def check_joint(robot: Robot, joint: object) -> None:
    """Raise DynamicsError unless `joint` is the index of one of the robot's joints."""
    if type(joint) is int and 0 <= joint < len(robot.joints):  # each reading is checked
        return
    whole_number = isinstance(joint, int | np.integer) and not isinstance(joint, bool)
    if not (whole_number and 0 <= cast(int, joint) < robot.joint_count):
        last = robot.joint_count - 1
        raise DynamicsError(f"joint: {joint!r} given, an index from 0 to {last} in robot.joint_names needed")


def check_positions(q: np.ndarray, names: Sequence[str]) -> None:
    """Raise a DynamicsError for joint positions (..., n) that are too far from zero; names: of the n joints."""
    if np.abs(q).max(initial=0.0) <= FARTHEST_POSITION:
        return
    worst = np.unravel_index(np.argmax(np.abs(q)), q.shape)
    raise DynamicsError(
        f"q: {q[worst]:.6g} of {names[int(worst[-1])]} given, at most {FARTHEST_POSITION:.0e} rad or m from zero are "
        "allowed; reduce the angle to one turn"
    )


def as_floats(name: str, value: npt.ArrayLike, needed: str, *, copy: bool = False) -> np.ndarray:
    """Return a C-ordered float array of any shape, or a DynamicsError that names it and says what is needed, where
    {value} stands for what was given: its text is long to write, and written for an error only.
    """
    try:
        given = np.asarray(value)
        if np.iscomplexobj(given):  # numpy would warn only
            needed = "complex numbers given, real numbers needed"
            raise TypeError
        return np.array(given, dtype=float, order="C") if copy else np.ascontiguousarray(given, dtype=float)
    except (TypeError, ValueError):
        raise DynamicsError(f"{name}: {needed.format(value=shorten(repr(value)))}") from None


def as_numbers(
    name: str, value: npt.ArrayLike, shape: tuple[int, ...], what: str = "", *, copy: bool = False
) -> np.ndarray:
    """Return a C-ordered float array of that shape, NaN where a number is not known, or a DynamicsError that names it.

    An array of that form is returned as it is, unless copied, in 0.1 us: the robot's program gives such.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.c_contiguous:
        return value.copy() if copy else value
    array = as_floats(name, value, f"{{value}} given, an array of shape {shape} needed", copy=copy)
    if array.shape != shape:
        raise DynamicsError(f"{name}: shape {array.shape} given, {shape} needed{what}")
    return array


def as_mask(name: str, value: npt.ArrayLike, count: int) -> np.ndarray:
    """Return an array (count,) of booleans, or a DynamicsError that names it."""
    mask = np.asarray(value)
    if mask.dtype.kind not in "bi" or mask.shape != (count,):
        raise DynamicsError(f"{name}: {shorten(repr(value))} given, an array ({count},) of True and False needed")
    return mask.astype(bool)


def as_rotation(name: str, value: npt.ArrayLike) -> np.ndarray:
    """Return a rotation matrix (3, 3), or a DynamicsError that names it."""
    rotation = as_numbers(name, value, (3, 3))
    if not is_rotation(rotation):
        raise DynamicsError(f"{name}: {rotation.tolist()} is not a rotation matrix")
    return rotation


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
    ignored: tuple[EllipsisType, np.ndarray] | None = None,
) -> np.ndarray:
    """Return a copy of `as_numbers`, of finite numbers; ignored: entries that are set to zero."""
    array = as_numbers(name, value, shape, what, copy=True)
    if ignored is not None:
        array[ignored] = 0.0
    if not np.all(np.isfinite(array)):
        raise DynamicsError(f"{name}: {array.tolist()} has a value that is not finite")
    return array


def check_input(name: str, value: npt.ArrayLike, morphology: Morphology, lead: tuple[int, ...] = ()) -> np.ndarray:
    """Return an input of the model (R, q, nu, nudot, tau, p or point) as an array, or a DynamicsError that names it.

    lead: shape of leading axes. Entries of q of joints that do not move are set to zero.
    """
    joints, n = len(morphology.moving_mask), int(morphology.moving_mask.sum())
    shapes = {"R": (3, 3), "q": (joints,), "nu": (6 + n,), "nudot": (6 + n,), "tau": (n,), "p": (3,), "point": (3,)}
    what = f"; n = {n} joints exist and move" if name in ("nu", "nudot", "tau") else ""
    ignored = (..., ~morphology.moving_mask) if name == "q" else None
    array = as_array(name, value, lead + shapes[name], what, ignored)
    if name == "q":
        check_positions(array, morphology.robot.joint_names)
    if name == "R" and not all(is_rotation(each) for each in array.reshape(-1, 3, 3)):
        raise DynamicsError(f"R: {array.tolist()} is not a rotation matrix")
    return array
