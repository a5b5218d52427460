"""A roll from the back onto the belly: poses of the side that pushes and of the side over which the robot rolls."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot

Angles = tuple[float, float, float]  # [rad] of coxa, femur, tibia
Pose = tuple[Angles, Angles]  # of the pushers, of the pivots
SIDES = ("left", "right")
POSES, NUMBERS = 4, 28


@dataclass(frozen=True)
class Manoeuvre:
    """Poses that turn a robot over which lies on its back.

    poses: of each the joint angles (coxa, femur, tibia) [rad] of the pushers and of the pivots. The coxas of a side's
    front and rear leg turn by it in opposite directions, that of a middle leg stays at zero (`pose_angles`). times [s]:
    of each pose, the least. pushers: the side that pushes, "left" or "right"; the robot rolls over the other. lost:
    names of the legs without which it was made; none for one that serves each set with both corner legs of a side.
    """

    poses: tuple[Pose, ...]
    times: tuple[float, ...]
    pushers: str
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pushers not in SIDES:
            raise HexapodError(f"pushers: {self.pushers!r} given, allowed are {' and '.join(SIDES)}")
        angles = np.asarray(self.poses, float)
        if angles.shape != (POSES, 2, 3) or len(self.times) != POSES:
            raise HexapodError(f"a manoeuvre has {POSES} poses of 2 x 3 angles, each with a time; given {angles.shape}")
        if not (np.isfinite(angles).all() and all(0.05 <= t <= 5.0 for t in self.times)):
            raise HexapodError("a manoeuvre needs finite angles [rad] and times from 0.05 to 5 s")

    def mirrored(self, partners: dict[str, str]) -> Manoeuvre:
        """Return the mirror image. partners: each leg's name on the other side."""
        order = {name: k for k, name in enumerate(partners)}
        lost = sorted((partners[name] for name in self.lost), key=order.__getitem__)
        return dataclasses.replace(self, pushers=other_side(self.pushers), lost=tuple(lost))

    def numbers(self) -> np.ndarray:
        """Return all angles [rad], then all times [s], as (NUMBERS,): what a search changes."""
        return np.concatenate([np.asarray(self.poses, float).ravel(), self.times])

    def with_numbers(self, numbers: np.ndarray) -> Manoeuvre:
        """Return the manoeuvre of the same side and legs with other `numbers` (NUMBERS,)."""
        poses = poses_of(np.asarray(numbers[: POSES * 6], float).reshape(POSES, 6))
        times = tuple(float(np.clip(t, 0.05, 5.0)) for t in numbers[POSES * 6 :])
        return dataclasses.replace(self, poses=poses, times=times)


def poses_of(rows: np.ndarray) -> tuple[Pose, ...]:
    """Return the poses of rows (POSES, 6) [rad]: three angles of the pushers, three of the pivots."""
    return tuple(((float(a), float(b), float(c)), (float(d), float(e), float(f))) for a, b, c, d, e, f in rows)


def other_side(side: str) -> str:
    """Return the other one of SIDES."""
    return SIDES[1 - SIDES.index(side)]


def legs_of_side(robot: Robot, side: str) -> list[str]:
    """Return the names of the legs of a side."""
    sign = 1.0 if side == "left" else -1.0
    return [leg.name for leg in robot.legs if sign * leg.mount_position[1] > 0.0]


def corner_legs(robot: Robot, side: str) -> tuple[str, str]:
    """Return the names of the front and the rear leg of a side; HexapodError where it has no two legs."""
    names = legs_of_side(robot, side)
    if len(names) < 2:
        raise HexapodError(f"robot {robot.name}: {len(names)} legs on the {side}; at least 2 are needed to turn over")
    place = {leg.name: leg.mount_position[0] for leg in robot.legs}
    return max(names, key=place.__getitem__), min(names, key=place.__getitem__)


def coxa_signs(robot: Robot) -> np.ndarray:
    """Return the sign (legs,) with which each leg's coxa takes the angle of its side: +1 or -1 at corners, else 0."""
    corners = {side: corner_legs(robot, side) for side in SIDES}
    signs = np.zeros(len(robot.legs))
    for i, leg in enumerate(robot.legs):
        if leg.name == corners["left"][0] or leg.name == corners["right"][1]:
            signs[i] = 1.0
        elif leg.name == corners["left"][1] or leg.name == corners["right"][0]:
            signs[i] = -1.0
    return signs


def pose_angles(robot: Robot, left: npt.ArrayLike, right: npt.ArrayLike) -> np.ndarray:
    """Return joint angles (n,) [rad] of all joints from (coxa, femur, tibia) of the legs of each side."""
    if any(len(leg.joints) != 3 for leg in robot.legs):
        raise HexapodError(f"robot {robot.name}: legs of three joints are needed to get up")
    signs, angles = coxa_signs(robot), np.zeros((len(robot.legs), 3))
    for i, leg in enumerate(robot.legs):
        angles[i] = left if leg.mount_position[1] > 0.0 else right
        angles[i, 0] *= signs[i]
    return angles.ravel()


def joint_poses(robot: Robot, manoeuvre: Manoeuvre) -> np.ndarray:
    """Return the joint angles (POSES, n) [rad] of a manoeuvre."""
    rows = []
    for pushers, pivots in manoeuvre.poses:
        left, right = (pushers, pivots) if manoeuvre.pushers == "left" else (pivots, pushers)
        rows.append(pose_angles(robot, left, right))
    return np.array(rows)


def best_side(robot: Robot, lost: Iterable[str]) -> str | None:
    """Return the side that has both corner legs, that with more legs if both have; None if neither has."""
    gone = set(lost)
    sides = [side for side in SIDES if not gone & set(corner_legs(robot, side))]
    left = {side: len(set(legs_of_side(robot, side)) - gone) for side in SIDES}
    return max(sides, key=left.__getitem__) if sides else None
