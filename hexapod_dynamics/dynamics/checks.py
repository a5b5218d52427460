"""Checks the inputs of the whole-body model; errors name the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array, as_numbers
from hexapod_dynamics.core._core import FARTHEST_POSITION, is_rotation
from hexapod_dynamics.errors import DynamicsError, require_instance
from hexapod_dynamics.robot import Morphology, Robot


def require_robot(robot: object) -> Robot:
    """Return a robot; DynamicsError for anything else."""
    require_instance("robot", robot, Robot, DynamicsError)
    return cast(Robot, robot)


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


def as_rotation(name: str, value: npt.ArrayLike) -> np.ndarray:
    """Return a rotation matrix (3, 3), or a DynamicsError that names it."""
    rotation = as_numbers(name, value, (3, 3))
    if not is_rotation(rotation):
        raise DynamicsError(f"{name}: {rotation.tolist()} is not a rotation matrix")
    return rotation


def check_input(name: str, value: npt.ArrayLike, morphology: Morphology, lead: tuple[int, ...] = ()) -> np.ndarray:
    """Return an input of the model (R, q, nu, nudot, tau, p or point) as an array, or a DynamicsError that names it.

    lead: shape of leading axes. Entries of q of joints that do not move, of tau of limp ones, are set to zero.
    """
    moving, driven = morphology.moving_mask, morphology.driven_mask
    joints, n = len(moving), int(moving.sum())
    shapes = {"R": (3, 3), "q": (joints,), "nu": (6 + n,), "nudot": (6 + n,), "tau": (n,), "p": (3,), "point": (3,)}
    what = f"; n = {n} joints exist and move" if name in ("nu", "nudot", "tau") else ""
    ignored = {"q": ~moving, "tau": ~driven[moving]}.get(name)
    array = as_array(name, value, lead + shapes[name], what, ignored)
    if name == "q":
        check_positions(array, morphology.robot.joint_names)
    if name == "R" and not all(is_rotation(each) for each in array.reshape(-1, 3, 3)):
        raise DynamicsError(f"R: {array.tolist()} is not a rotation matrix")
    return array
