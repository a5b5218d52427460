"""Rolls from the back onto the belly, and the library of them: a YAML file that is read and checked at start.

The first manoeuvre of a library serves the whole robot and every set of lost legs that leaves both corner legs of a
side; each of the others serves one set and its mirror image. The file contains the robot's name and a digest of
everything on which manoeuvres depend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.planning.library import RobotLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section, quote

SIDES = ("left", "right")
POSES = 4
DECIMALS = 3  # of angles [rad] and times [s] in the file


@dataclass(frozen=True)
class Manoeuvre:
    """Poses that turn a robot over which lies on its back.

    legs: names of the legs that take part. numbers (POSES (3 legs + 1),): the `angles` (POSES, legs, 3) [rad] of coxa,
    femur and tibia, then the least duration [s] of each pose, `times` (POSES,): the variables of a search. pushers: the
    side that pushes, "left" or "right"; the robot rolls over the other. lost: names of the legs without which it was
    made; empty for a manoeuvre for all sets with both corner legs of a side.
    """

    legs: tuple[str, ...]
    numbers: tuple[float, ...]
    pushers: str
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pushers not in SIDES:
            raise HexapodError(f"pushers: {self.pushers!r} given, allowed are {' and '.join(SIDES)}")
        if len(self.numbers) != POSES * (3 * len(self.legs) + 1):
            raise HexapodError(f"a manoeuvre has {POSES} poses of the same legs, each with a time")
        if not (np.isfinite(self.numbers).all() and all(0.05 <= t <= 5.0 for t in self.times)):
            raise HexapodError("a manoeuvre needs finite angles [rad] and times from 0.05 to 5 s")

    @property
    def angles(self) -> np.ndarray:
        """Joint angles (POSES, legs, 3) [rad] of each pose."""
        return np.array(self.numbers[:-POSES]).reshape(POSES, len(self.legs), 3)

    @property
    def times(self) -> tuple[float, ...]:
        """Least duration (POSES,) [s] of each pose."""
        return self.numbers[-POSES:]

    @classmethod
    def read(cls, robot: Robot, section: Section) -> Manoeuvre:
        """Return the manoeuvre that a section of a file describes; HexapodError says what is wrong in it."""
        lost, poses = section.read("lost"), section.read("poses")
        if not isinstance(lost, list) or not all(isinstance(name, str) for name in lost):
            raise HexapodError(f"{section.key('lost')}: {quote(lost)} given, a list of legs needed")
        if not isinstance(poses, list) or len(poses) != POSES:
            raise HexapodError(f"{section.key('poses')}: a list of {POSES} poses needed")
        numbers: list[float] = []
        sections = [Section(pose, section.key(f"poses[{k}]")) for k, pose in enumerate(poses)]
        legs = tuple(name for name in robot.leg_names if name in sections[0].values)
        for pose in sections:
            for name in legs:
                numbers += pose.vector(name, 3).tolist()
            pose.check_all_read()
        numbers += section.vector("times", POSES).tolist()
        pushers = section.text("pushers")
        section.check_all_read()
        try:
            return cls(legs, tuple(numbers), pushers, tuple(lost))
        except HexapodError as error:
            raise HexapodError(f"{section.label}: {error}") from None

    def to_dict(self) -> dict[str, object]:
        """Return the manoeuvre in the form in which a file contains it; `read` reads this form."""
        poses = [dict(zip(self.legs, np.round(pose, DECIMALS).tolist(), strict=True)) for pose in self.angles]
        times = np.round(self.times, DECIMALS).tolist()
        return {"lost": list(self.lost), "pushers": self.pushers, "poses": poses, "times": times}

    def mirror(self, partners: dict[str, str]) -> Manoeuvre:
        """Return the mirror image. partners: each leg's name on the other side."""
        return self.move_to_legs(partners, -1.0)

    def move_to_legs(self, names: dict[str, str], coxa_sign: float) -> Manoeuvre:
        """Return the manoeuvre with the legs exchanged by `names`, which pushes from the other side of the robot.

        coxa_sign: -1 for its mirror image; 1 for a robot turned by half a turn about z.
        """
        order = {name: k for k, name in enumerate(names)}
        lost = tuple(sorted((names[name] for name in self.lost), key=order.__getitem__))
        legs = tuple(names[name] for name in self.legs)
        numbers = (*(self.angles * (coxa_sign, 1.0, 1.0)).ravel().tolist(), *self.times)
        return Manoeuvre(legs, numbers, SIDES[1 - SIDES.index(self.pushers)], lost)

    def without(self, lost: Iterable[str]) -> Manoeuvre:
        """Return the same poses of the other legs, as a Manoeuvre for the set `lost`."""
        gone = tuple(lost)
        stays = [name not in gone for name in self.legs]
        legs = tuple(name for name in self.legs if name not in gone)
        return Manoeuvre(legs, (*self.angles[:, stays].ravel().tolist(), *self.times), self.pushers, gone)


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


def pose_angles(robot: Robot, left: npt.ArrayLike, right: npt.ArrayLike) -> np.ndarray:
    """Return joint angles (n,) [rad] of all joints from (coxa, femur, tibia) of the legs of each side.

    The coxa's angle is that of the left front and the right rear leg; those of the other corner legs are its negative,
    those of middle legs 0.
    """
    if any(len(leg.joints) != 3 for leg in robot.legs):
        raise HexapodError(f"robot {robot.name}: legs of three joints are needed to get up")
    (left_front, left_rear), (right_front, right_rear) = (corner_legs(robot, side) for side in SIDES)
    signs = {left_front: 1.0, right_rear: 1.0, left_rear: -1.0, right_front: -1.0}
    angles = np.array([left if leg.mount_position[1] > 0.0 else right for leg in robot.legs], float)
    angles[:, 0] *= [signs.get(name, 0.0) for name in robot.leg_names]
    return angles.ravel()


def joint_poses(robot: Robot, manoeuvre: Manoeuvre, others: npt.ArrayLike) -> np.ndarray:
    """Return the joint angles (POSES, n) [rad] of a manoeuvre; others (n,): of the legs that take no part."""
    rows = np.tile(np.asarray(others, float), (POSES, 1))
    for k, name in enumerate(manoeuvre.legs):
        rows[:, robot.leg_joints(name)] = manoeuvre.angles[:, k]
    return rows


def choose_side(robot: Robot, lost: Iterable[str]) -> str | None:
    """Return the side that has both corner legs, that with more legs if both have; None if neither has."""
    gone = set(lost)
    sides = [side for side in SIDES if not gone & set(corner_legs(robot, side))]
    return max(sides, key=lambda side: len(set(legs_of_side(robot, side)) - gone), default=None)


def find_damage(robot: Robot, morphology: Morphology) -> dict[str, set[int]]:
    """Return the joints, 0 the coxa to 2 the tibia, that are locked or limp of each leg (name) that is lost for a roll:
    all where a part, or most of the tibia, is missing.
    """
    Morphology.check(robot, morphology)
    works, found = morphology.existing_mask & morphology.moving_mask & morphology.driven_mask, {}
    for leg in robot.legs:
        stump = morphology.remaining(leg.name, leg.link_names[-1]) < 0.7
        found[leg.name] = {k for k, one in enumerate(works[robot.leg_joints(leg.name)]) if stump or not one}
    return {name: joints for name, joints in found.items() if joints}


class GetUpLibrary(RobotLibrary[Manoeuvre]):
    """Manoeuvres by the set of lost legs."""

    ENTRY, MASSES = Manoeuvre, False
    KIND, KEY, TITLE = "get_up", "manoeuvres", "manoeuvres"
    COMMAND = "ros2 run hexapod_dynamics plan --get-up"

    def get_lost_legs(self, entry: Manoeuvre) -> frozenset[str]:
        """Return the legs without which a manoeuvre was made; HexapodError if one is none of the robot."""
        unknown = [name for name in entry.lost if name not in self.robot.leg_names]
        if unknown:
            raise HexapodError(f"lost: {unknown[0]} is no leg of {self.robot.name}")
        return frozenset(entry.lost)

    @property
    def universal(self) -> Manoeuvre | None:
        """The manoeuvre for all sets of lost legs without their own; None if there is none."""
        return self._entries.get(frozenset())

    def find_all(self, lost: Iterable[str]) -> list[Manoeuvre]:
        """Return the manoeuvres made for a set of lost legs, as in `RobotLibrary`; none without losses."""
        gone = frozenset(lost)
        return super().find_all(gone) if gone else []

    def remove(self, lost: Iterable[str]) -> None:
        """Remove the manoeuvres for this set of lost legs and its mirror image."""
        for gone in self._images(lost):
            self._entries.pop(gone, None)

    def choose(self, damage: Mapping[str, set[int]]) -> list[Manoeuvre]:
        """Return the manoeuvres to try with a damage (`find_damage`), the most promising first; empty: there are none.

        Manoeuvres in which a damaged leg takes part come first if its coxa alone is damaged, because it still pushes;
        and if it is the only one and a middle leg, and its femur alone is, because it cannot be folded out of the way.
        """
        gone = frozenset(damage)
        pushes, own = {name for name, joints in damage.items() if joints == {0}}, self.find_all(gone)
        if pushes:
            return self.find_all(gone - pushes) + self._of_all_legs(gone, always=True) + own
        corners = {name for side in SIDES for name in corner_legs(self.robot, side)}
        if list(damage.values()) == [{1}] and not gone & corners:
            return self._of_all_legs(gone, always=True)[::-1] + own
        return own + self._of_all_legs(gone, always=not own)

    def _of_all_legs(self, gone: frozenset[str], always: bool) -> list[Manoeuvre]:
        """Return the universal manoeuvre and its mirror image, that which pushes with the better side without the legs
        `gone` first; where neither side has both corner legs: only if `always`.
        """
        if self.universal is None:
            return []
        images = {one.pushers: one for one in super().find_all(())}
        best, out = choose_side(self.robot, gone), list[Manoeuvre]()
        if best in images:
            out.append(images.pop(best))
        return out + list(images.values()) if best is not None or always else out
