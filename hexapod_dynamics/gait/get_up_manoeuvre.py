"""A roll from the back onto the belly: poses of the legs that push and of those over which the robot rolls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot

Angles = tuple[float, float, float]  # [rad] of coxa, femur, tibia
Pose = dict[str, Angles]  # by leg
SIDES = ("left", "right")
POSES = 4
DECIMALS = 3  # of angles [rad] and times [s] in the file


@dataclass(frozen=True)
class Manoeuvre:
    """Poses that turn a robot over which lies on its back.

    poses: for each, the joint angles (coxa, femur, tibia) [rad] of the legs that take part, by name. times [s]:
    least duration of each pose. pushers: the side that pushes, "left" or "right"; the robot rolls over the other.
    lost: names of the legs without which it was made; empty for a manoeuvre for all sets with both corner legs of
    a side.
    """

    poses: tuple[Pose, ...]
    times: tuple[float, ...]
    pushers: str
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pushers not in SIDES:
            raise HexapodError(f"pushers: {self.pushers!r} given, allowed are {' and '.join(SIDES)}")
        if len(self.poses) != POSES or len(self.times) != POSES:
            raise HexapodError(f"a manoeuvre has {POSES} poses, each with a time; given {len(self.poses)}")
        if any(list(pose) != list(self.poses[0]) for pose in self.poses):
            raise HexapodError("all poses of a manoeuvre need the same legs in the same order")
        if not (np.isfinite(self.numbers()).all() and all(0.05 <= t <= 5.0 for t in self.times)):
            raise HexapodError("a manoeuvre needs finite angles [rad] and times from 0.05 to 5 s")

    @property
    def legs(self) -> tuple[str, ...]:
        """Names of the legs that take part."""
        return tuple(self.poses[0])

    def mirrored(self, partners: dict[str, str]) -> Manoeuvre:
        """Return the mirror image. partners: each leg's name on the other side."""
        return self._on_other_legs(partners, -1.0)

    def turned(self, opposites: dict[str, str]) -> Manoeuvre:
        """Return the manoeuvre for the robot turned by half a turn about its z axis. opposites: as
        `opposite_legs`.
        """
        return self._on_other_legs(opposites, 1.0)

    def _on_other_legs(self, names: dict[str, str], coxa_sign: float) -> Manoeuvre:
        """Return the manoeuvre with the legs exchanged by `names`, which pushes from the other side of the robot."""
        order = {name: k for k, name in enumerate(names)}
        poses = tuple(
            {names[name]: (coxa_sign * coxa, femur, tibia) for name, (coxa, femur, tibia) in pose.items()}
            for pose in self.poses
        )
        lost = sorted((names[name] for name in self.lost), key=order.__getitem__)
        return Manoeuvre(poses, self.times, other_side(self.pushers), tuple(lost))

    def without(self, lost: Iterable[str]) -> Manoeuvre:
        """Return the same poses of the other legs, as a Manoeuvre for the set `lost`."""
        gone = tuple(lost)
        poses = tuple({name: a for name, a in pose.items() if name not in gone} for pose in self.poses)
        return Manoeuvre(poses, self.times, self.pushers, gone)

    def numbers(self) -> np.ndarray:
        """Return all angles [rad], then all times [s], as (POSES (3 legs + 1),): the variables of a search."""
        angles = [a for pose in self.poses for of_leg in pose.values() for a in of_leg]
        return np.array([*angles, *self.times], float)

    def with_numbers(self, numbers: np.ndarray) -> Manoeuvre:
        """Return the manoeuvre of the same legs with other `numbers` (POSES (3 legs + 1),).

        They are rounded as in the file, so that the stored manoeuvre is exactly the tried one.
        """
        angles = np.round(numbers[:-POSES], DECIMALS).reshape(POSES, len(self.legs), 3).tolist()
        poses = tuple({name: _angles(a) for name, a in zip(self.legs, pose, strict=True)} for pose in angles)
        times = tuple(float(np.clip(t, 0.05, 5.0)) for t in np.round(numbers[-POSES:], DECIMALS))
        return Manoeuvre(poses, times, self.pushers, self.lost)


def _angles(values: Iterable[float]) -> Angles:
    coxa, femur, tibia = (float(value) for value in values)
    return coxa, femur, tibia


def poses_of_sides(robot: Robot, rows: npt.ArrayLike, pushers: str) -> tuple[Pose, ...]:
    """Return the poses of rows (POSES, 6) [rad]: three angles of all legs of the side that pushes, three of the others,
    as in `pose_angles`.
    """
    poses = []
    for row in np.asarray(rows, float):
        sides = (row[:3], row[3:]) if pushers == "left" else (row[3:], row[:3])
        angles = pose_angles(robot, *sides).reshape(-1, 3)
        poses.append({name: _angles(a) for name, a in zip(robot.leg_names, angles, strict=True)})
    return tuple(poses)


def other_side(side: str) -> str:
    """Return the other one of SIDES."""
    return SIDES[1 - SIDES.index(side)]


def legs_of_side(robot: Robot, side: str) -> list[str]:
    """Return the names of the legs of a side."""
    sign = 1.0 if side == "left" else -1.0
    return [leg.name for leg in robot.legs if sign * leg.mount_position[1] > 0.0]


def corner_legs(robot: Robot, side: str) -> tuple[str, str]:
    """Return the names of the front and the rear leg of a side; HexapodError if it has fewer than two legs."""
    names = legs_of_side(robot, side)
    if len(names) < 2:
        raise HexapodError(f"robot {robot.name}: {len(names)} legs on the {side}; at least 2 are needed to turn over")
    place = {leg.name: leg.mount_position[0] for leg in robot.legs}
    return max(names, key=place.__getitem__), min(names, key=place.__getitem__)


def opposite_legs(robot: Robot) -> dict[str, str]:
    """Return the name of the leg that is mounted where each leg would be after half a turn about z; empty if a leg
    has none.
    """
    found = {}
    for leg in robot.legs:
        for other in robot.legs:
            if np.abs(leg.mount_position[:2] + other.mount_position[:2]).max() < 1e-3:
                found[leg.name] = other.name
    return found if len(found) == len(robot.legs) else {}


def coxa_signs(robot: Robot) -> np.ndarray:
    """Return the sign (legs,) by which the coxa angle of a side is multiplied for each leg: +1 or -1 at corners,
    else 0.
    """
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


def joint_poses(robot: Robot, manoeuvre: Manoeuvre, others: npt.ArrayLike) -> np.ndarray:
    """Return the joint angles (POSES, n) [rad] of a manoeuvre; others (n,): of the legs that take no part."""
    rows = np.tile(np.asarray(others, float), (POSES, 1))
    for row, pose in zip(rows, manoeuvre.poses, strict=True):
        for name, angles in pose.items():
            row[robot.leg_joints(name)] = angles
    return rows


def best_side(robot: Robot, lost: Iterable[str]) -> str | None:
    """Return the side that has both corner legs, that with more legs if both have; None if neither has."""
    gone = set(lost)
    sides = [side for side in SIDES if not gone & set(corner_legs(robot, side))]
    left = {side: len(set(legs_of_side(robot, side)) - gone) for side in SIDES}
    return max(sides, key=left.__getitem__) if sides else None
