"""The morphology: which legs and links exist, the damage of each joint, how much of each link is left; immutable,
hashable.

The existence numbers lam_i, lam_ij are those of Farghdani & Chhabra 2025, definition 1; locked joints, limp joints and
shortened links are further kinds of damage (docs/model.md, `hexapod_dynamics.damage`). Parts beyond a
lost or broken link are lost, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hexapod_dynamics.damage import KINDS, LIMP, LOCKED, DamageKind, JointDamage, JointKind
from hexapod_dynamics.damage.kind import check_fraction, check_position
from hexapod_dynamics.damage.registry import apply_values
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.robot.parts import Link

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot
    from hexapod_dynamics.robot.leg import Leg

T = TypeVar("T")
Fractions = tuple[float, ...]  # of the length of each link of a leg that is left
Damages = tuple[JointDamage | None, ...]  # of each joint of a leg


class Morphology:
    """The remaining structure of a robot. Every change returns a new Morphology; an impossible change raises
    MorphologyError.
    """

    __slots__ = ("_robot", "_remaining", "_joints", "_hash", "_table", "__weakref__")

    def __init__(
        self,
        robot: Robot,
        remaining: tuple[Fractions, ...],
        joints: tuple[Damages, ...],
    ) -> None:
        """For internal use: create a Morphology by `Morphology.whole(robot)` and its methods.

        remaining: for each leg, each link's remaining fraction, 0 for a missing link; joints: for each leg, the
        damage of each joint, None if the joint works or its link is missing.
        """
        self._robot, self._remaining, self._joints = robot, remaining, joints
        self._hash: int | None = None
        self._table: np.ndarray | None = None

    @classmethod
    def whole(cls, robot: Robot) -> Morphology:
        """Return the morphology of the intact robot."""
        return cls(
            robot,
            tuple((1.0,) * len(leg.links) for leg in robot.legs),
            tuple((None,) * len(leg.joints) for leg in robot.legs),
        )

    # ---- changes -------------------------------------------------------------------------------------------------

    def without(self, *names: str) -> Morphology:
        """Return the morphology without these legs ("RM") and links ("LM.femur"), and without the links beyond
        them.
        """
        new = self
        for name in names:
            leg, link = new.find_place(name)
            new = new.with_remaining(leg, link or 0, 0.0)
        return new

    def locked(self, name: str, angle: float) -> Morphology:
        """Return the morphology with the joint that moves link `name` ("RF.tibia") locked at `angle` [rad or m];
        no link is lost.

        Angles beyond one turn (6.283) are refused, because they probably are degrees.
        """
        leg, link = self._link_place(name)
        return self.with_damage(leg, link, LOCKED, check_position(angle, f"locked.{name}"))

    def limp(self, name: str) -> Morphology:
        """Return the morphology with the joint that moves link `name` ("LR.femur") limp: it moves freely, its
        servo gives no torque.
        """
        leg, link = self._link_place(name)
        return self.with_damage(leg, link, LIMP, True)

    def broken(self, name: str, remaining: float) -> Morphology:
        """Return the morphology with link `name` cut at the fraction `remaining` (0..1) of its full length; links
        beyond it are lost.

        0 is the same as without(name). A link that is shorter already keeps its length; `restored` gives it its
        full length.
        """
        leg, link = self._link_place(name)
        remaining = check_fraction(remaining, f"remaining.{name}")
        if self._remaining[leg][link] == 0 and remaining > 0:
            raise MorphologyError(f"remaining.{name}: the link is missing; restore {name} first")
        if remaining >= self._remaining[leg][link]:
            return self
        return self.with_remaining(leg, link, remaining)

    def restored(self, name: str) -> Morphology:
        """Return the morphology with a leg ("LF", all of it) or one link ("LF.tibia") restored: full length, joint
        undamaged.
        """
        leg, link = self.find_place(name)
        if link is None:
            count = len(self._remaining[leg])
            return self._with_leg(leg, (1.0,) * count, (None,) * count)
        if link and self._remaining[leg][link - 1] < 1:
            state = "missing" if self._remaining[leg][link - 1] == 0 else "broken off"
            inner = self.part_name(leg, link - 1)
            raise MorphologyError(f"links.{name}: cannot come back while {inner} is {state}; restore {inner} first")
        return self.with_working_joint(leg, link).with_remaining(leg, link, 1.0)

    def updated(self, values: Mapping[str, object], locked_angles: Mapping[str, float] | None = None) -> Morphology:
        """Return the morphology with named values changed, all of them or none.

        The names are "legs.RM", "links.LM.femur", "locked.RF.tibia", "limp.LR.femur" (bool), "locked_at.RF.tibia"
        (float, rad or m: where the locked joint stands) and "remaining.LF.tibia" (float 0..1).

        locked_angles: position [rad or m] of newly locked joints for which `values` has no locked_at, by
        "RF.tibia" or joint name. Changes are applied from the body outward, restored parts before removed ones, so that
        their order does not matter. locked_at 0.0 of a joint that is not locked is ignored.
        """
        return apply_values(self, values, locked_angles or {})

    # ---- named values --------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, bool | float]:
        """Return the whole set of named values, as in the topic `morphology` and the parameters of damage_manager."""
        found = _intact_values(self._robot, KINDS.kinds).copy()
        for leg, fractions, joints in self._by_leg():
            for link, fraction, damage in zip(leg.links, fractions, joints, strict=True):
                if fraction < 1.0:
                    for value in KINDS.link_values:
                        found[f"{value.prefix}.{leg.name}.{link.name}"] = value.read(fraction)
                if damage is not None:
                    for value in damage.kind.values:
                        found[f"{value.prefix}.{leg.name}.{link.name}"] = value.read(damage.value)
            if fractions[0] < 1.0:
                for value in KINDS.leg_values:
                    found[f"{value.prefix}.{leg.name}"] = value.read(fractions[0])
        return found

    @classmethod
    def from_parameters(
        cls, robot: Robot, values: Mapping[str, object], locked_angles: Mapping[str, float] | None = None
    ) -> Morphology:
        """Return the morphology with these named values; parts that are not named are intact. See `updated`."""
        return cls.whole(robot).updated(values, locked_angles)

    # ---- questions -----------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The robot of this morphology."""
        return self._robot

    def has_leg(self, leg: str) -> bool:
        """Whether any part of the leg exists."""
        return self._remaining[self._leg_index(leg)][0] > 0

    def has_link(self, leg: str, link: str) -> bool:
        """Whether the link, or a part of it, exists."""
        return self.remaining(leg, link) > 0

    def remaining(self, leg: str, link: str) -> float:
        """Fraction of the link's length that is left, 0 if the link is missing."""
        index, place = self._index_of(leg, link)
        return self._remaining[index][place]

    def locked_angle(self, leg: str, link: str) -> float | None:
        """Position [rad or m] at which the joint that moves the link is locked; None if it is not locked."""
        damage = self.joint_damage(leg, link)
        return None if damage is None else damage.lock

    def is_limp(self, leg: str, link: str) -> bool:
        """Whether the joint that moves the link is limp: it moves, and its servo gives no torque."""
        damage = self.joint_damage(leg, link)
        return damage is not None and damage.limp

    def joint_damage(self, leg: str, link: str) -> JointDamage | None:
        """Damage of the joint that moves the link; None if the joint works or the link is missing."""
        index, place = self._index_of(leg, link)
        return self._joints[index][place]

    def links(self, leg: str) -> tuple[Link, ...]:
        """The leg's existing links, from the body outward, with their present lengths and masses."""
        index = self._leg_index(leg)
        pairs = zip(self._robot.legs[index].links, self._remaining[index], strict=True)
        return tuple(link.cut(fraction) for link, fraction in pairs if fraction > 0)

    @property
    def table(self) -> np.ndarray:
        """Properties of all joints in order, read-only array (4, joint_count).

        Rows: the fraction of the link's length that is left (0 if missing); 1 if the joint moves; the locked
        position [rad or m] (0 if not locked); 1 if the joint moves and its servo gives torque.
        """
        if self._table is None:
            parts = zip(self._remaining, self._joints, strict=True)
            self._table = np.concatenate([_columns(*part) for part in parts], axis=1)
            self._table.flags.writeable = False
        return self._table

    @property
    def existing_mask(self) -> np.ndarray:
        """Whether the link of each joint exists: bool array (joint_count,)."""
        return self.table[0] > 0

    @property
    def moving_mask(self) -> np.ndarray:
        """Whether each joint exists and is not locked: bool array (joint_count,)."""
        return self.table[1] > 0

    @property
    def driven_mask(self) -> np.ndarray:
        """Whether each joint moves and its servo gives torque (not limp): bool array (joint_count,)."""
        return self.table[3] > 0

    @property
    def locked_positions(self) -> np.ndarray:
        """Locked position [rad or m] of each joint, 0 if it is not locked: read-only array (joint_count,)."""
        return self.table[2]

    @property
    def is_intact(self) -> bool:
        """Whether no part is missing or shortened and no joint damaged."""
        parts = zip(self._remaining, self._joints, strict=True)
        return all(set(fractions) == {1.0} and set(joints) <= {None} for fractions, joints in parts)

    def describe(self) -> str:
        """Description of the damage: "RM missing, LM.femur missing, RF.tibia locked at 0.400"."""
        found = []
        for leg, fractions, joints in self._by_leg():
            if fractions[0] == 0:
                found.append(f"{leg.name} missing")
                continue
            for link, fraction, damage in zip(leg.links, fractions, joints, strict=True):
                if fraction == 1.0 and damage is None:
                    continue
                if damage is not None:
                    found.append(f"{leg.name}.{link.name} {damage.kind.describe(damage.value)}")
                if fraction < 1:
                    for kind in KINDS.link_kinds:
                        if text := kind.describe(fraction):
                            found.append(f"{leg.name}.{link.name} {text}")
                    break  # links beyond it are missing too
        return ", ".join(found) or "whole"

    # ---- by index, for the kinds of damage -----------------------------------------------------------------------

    def part_name(self, leg: int, link: int) -> str:
        """Return the name of a link from the indices of its leg and of itself: "LM.femur"."""
        robot_leg = self._robot.legs[leg]
        return f"{robot_leg.name}.{robot_leg.links[link].name}"

    def find_place(self, name: str) -> tuple[int, int | None]:
        """Return the index of the leg, and that of the link (None for a whole leg), for a name such as "RM" or
        "LM.femur".
        """
        if not isinstance(name, str):
            raise MorphologyError(f"{name!r} given, a name such as {self.part_name(0, 0)!r} needed")
        leg_name, dot, link_name = name.partition(".")
        leg = self._leg_index(leg_name)
        if not dot:
            return leg, None
        names = self._robot.legs[leg].link_names
        if link_name not in names:
            known = ", ".join(names)
            raise MorphologyError(f"{name!r}: leg {leg_name} has no link {link_name!r}; its links are {known}")
        return leg, names.index(link_name)

    def remaining_at(self, leg: int, link: int) -> float:
        """Return the fraction of the length of a link (indices) that is left, 0 if it is missing."""
        return self._remaining[leg][link]

    def damage_at(self, leg: int, link: int) -> JointDamage | None:
        """Return the damage of the joint of a link (indices), None if it works."""
        return self._joints[leg][link]

    def with_remaining(self, leg: int, link: int, fraction: float) -> Morphology:
        """Return the morphology with this fraction of a link (indices) left; the links beyond a shortened one are
        lost.
        """
        old, joints = self._remaining[leg], self._joints[leg]
        if fraction < 1:
            fractions = old[:link] + (fraction,) + (0.0,) * (len(old) - link - 1)
        else:
            fractions = _replaced(old, link, fraction)
        if joints.count(None) < len(joints):  # a joint whose link is lost is no longer damaged
            joints = tuple(damage if left else None for damage, left in zip(joints, fractions, strict=True))
        return self._with_leg(leg, fractions, joints)

    def with_damage(self, leg: int, link: int, kind: JointKind, value: bool | float) -> Morphology:
        """Return the morphology with this damage of the joint of a link (indices); refused if the joint has
        another damage or the link is missing.
        """
        joints = self._joints[leg]
        damage = joints[link]
        if self._remaining[leg][link] == 0 or (damage is not None and damage.kind is not kind):
            raise kind.refuse(self.part_name(leg, link), damage)
        return self._with_leg(leg, self._remaining[leg], _replaced(joints, link, kind.damage(value)))

    def with_working_joint(self, leg: int, link: int) -> Morphology:
        """Return the morphology with the joint of a link (indices) undamaged."""
        return self._with_leg(leg, self._remaining[leg], _replaced(self._joints[leg], link, None))

    # ---- inside --------------------------------------------------------------------------------------------------

    def _by_leg(self) -> Iterator[tuple[Leg, Fractions, Damages]]:
        """Each leg with its links' remaining fractions and its joints' damage."""
        return zip(self._robot.legs, self._remaining, self._joints, strict=True)

    def _leg_index(self, name: str) -> int:
        names = self._robot.leg_names
        if name in names:
            return names.index(name)
        raise MorphologyError(f"{name!r}: no such leg; the legs are {', '.join(names)}")

    def _index_of(self, leg: str, link: str) -> tuple[int, int]:
        """Return the indices of the leg and of its link. Simulations call this often, so no names are joined or
        split.
        """
        index = self._leg_index(leg)
        names = self._robot.legs[index].link_names
        return (index, names.index(link)) if link in names else self._link_place(f"{leg}.{link}")

    def _link_place(self, name: str) -> tuple[int, int]:
        leg, link = self.find_place(name)
        if link is None:
            raise MorphologyError(f"{name!r}: a link is needed, such as {name}.{self._robot.legs[leg].link_names[-1]}")
        return leg, link

    def _with_leg(self, leg: int, fractions: Fractions, joints: Damages) -> Morphology:
        return Morphology(self._robot, _replaced(self._remaining, leg, fractions), _replaced(self._joints, leg, joints))

    def __copy__(self) -> Morphology:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, object]) -> Morphology:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Morphology)
            and self._remaining == other._remaining
            and self._joints == other._joints
            and self._robot == other._robot
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self._robot, self._remaining, self._joints))
        return self._hash

    def __reduce__(self) -> tuple[type[Morphology], tuple[Robot, tuple[Fractions, ...], tuple[Damages, ...]]]:
        return Morphology, (self._robot, self._remaining, self._joints)

    def __repr__(self) -> str:
        return f"Morphology({self._robot.name}: {self.describe()})"


@lru_cache(maxsize=16)
def _intact_values(robot: Robot, kinds: tuple[DamageKind, ...]) -> dict[str, bool | float]:
    """Return the named values of an intact robot, for these kinds of damage."""
    links = [f"{leg.name}.{link}" for leg in robot.legs for link in leg.link_names]
    values = [value for kind in kinds for value in kind.values]
    return {f"{v.prefix}.{part}": v.intact for v in values for part in (robot.leg_names if v.of_leg else links)}


@lru_cache(maxsize=256)
def _columns(fractions: Fractions, joints: Damages) -> np.ndarray:
    """Return a leg's columns of `table`: remaining fraction, whether the joint moves, its locked position, whether
    it has torque.
    """
    moving = [1.0 if left else 0.0 for left in fractions]
    rows = [list(fractions), moving, [0.0] * len(moving), list(moving)]
    for k, damage in enumerate(joints):
        if damage is not None:
            if damage.lock is not None:
                rows[1][k], rows[2][k] = 0.0, damage.lock
            if damage.lock is not None or damage.limp:
                rows[3][k] = 0.0
    return np.array(rows)


def _replaced(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return values[:index] + (value,) + values[index + 1 :]
