"""The morphology: which legs and links exist, the damage of each joint, how much of each link is left; immutable,
hashable.

The existence numbers lam_i, lam_ij are those of Farghdani & Chhabra 2025, definition 1; locked joints, limp joints and
shortened links are further kinds of damage (docs/model.md, `hexapod_dynamics.damage`). Parts beyond a
lost or broken link are lost, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

import numpy as np

from hexapod_dynamics.damage import KINDS, LIMP, LOCKED, JointDamage, JointKind
from hexapod_dynamics.damage.changes import apply_values
from hexapod_dynamics.errors import DynamicsError, MorphologyError, RobotError, require_instance
from hexapod_dynamics.robot.geometry import Leg
from hexapod_dynamics.robot.parts import Link

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

T = TypeVar("T")
Fractions = tuple[float, ...]  # of the length of each link of a leg that is left
Damages = tuple[JointDamage | None, ...]  # of each joint of a leg


@dataclass(frozen=True, repr=False)
class Morphology:
    """The remaining structure of a robot. Every change returns a new Morphology; an impossible change raises
    MorphologyError.

    Create it by `Morphology.whole(robot)` and its methods. fractions: for each leg, each link's remaining fraction, 0
    for a missing link; damages: for each leg, the damage of each joint, None if the joint works or its link is missing.
    """

    robot: Robot
    fractions: tuple[Fractions, ...]
    damages: tuple[Damages, ...]
    MADE_BY: ClassVar[str] = "of the whole robot: Morphology.whole(robot)"

    @classmethod
    def whole(cls, robot: Robot) -> Morphology:
        """Return the morphology of the intact robot; RobotError for what is no Robot."""
        if not hasattr(robot, "legs"):  # the class is not known here: it is made with morphologies
            raise RobotError(f"robot: {robot!r} given, a Robot needed (Robot.load(path) reads one from a file)")
        counts = [len(leg.links) for leg in robot.legs]
        return cls(robot, tuple((1.0,) * count for count in counts), tuple((None,) * count for count in counts))

    @classmethod
    def check(cls, robot: Robot, given: object, name: str = "morphology") -> None:
        """Raise DynamicsError unless `given` is a morphology of this robot; name: of the argument."""
        require_instance(name, given, cls, DynamicsError)
        theirs = cast(Morphology, given).robot
        if theirs is not robot and theirs != robot:
            raise DynamicsError(
                f"morphology of robot {theirs.name!r} given, one of {robot.name!r} needed; make it from this robot"
            )

    # ---- changes -------------------------------------------------------------------------------------------------

    def without(self, *names: str) -> Morphology:
        """Return the morphology without these legs ("RM"), these links ("LM.femur") and the links beyond them."""
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
        return self.with_damage(leg, link, LOCKED, LOCKED.values[-1].check(angle, f"locked.{name}"))

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
        remaining = KINDS.values["remaining"].check(remaining, f"remaining.{name}")
        if self.fractions[leg][link] == 0 and remaining > 0:
            raise MorphologyError(f"remaining.{name}: the link is missing; restore {name} first")
        if remaining >= self.fractions[leg][link]:
            return self
        return self.with_remaining(leg, link, remaining)

    def restored(self, name: str) -> Morphology:
        """Return the morphology with a whole leg ("LF") or one link ("LF.tibia") restored, its joints undamaged."""
        leg, link = self.find_place(name)
        if link is None:
            count = len(self.fractions[leg])
            return self._replace_leg(leg, (1.0,) * count, (None,) * count)
        if link and self.fractions[leg][link - 1] < 1:
            state = "missing" if self.fractions[leg][link - 1] == 0 else "broken off"
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
        legs, links = self.robot.leg_names, self.robot.part_names
        values = KINDS.values.values()
        found = {f"{v.prefix}.{part}": v.intact for v in values for part in (legs if v.of_leg else links)}
        for leg, fractions, joints in self._by_leg():
            found[f"legs.{leg.name}"] = fractions[0] > 0.0
            for link, fraction, damage in zip(leg.links, fractions, joints, strict=True):
                part = f"{leg.name}.{link.name}"
                found[f"links.{part}"], found[f"remaining.{part}"] = fraction > 0.0, fraction
                if damage is not None:
                    for value in damage.kind.values:
                        found[f"{value.prefix}.{part}"] = True if isinstance(value.intact, bool) else damage.value
        return found

    @classmethod
    def from_parameters(
        cls, robot: Robot, values: Mapping[str, object], locked_angles: Mapping[str, float] | None = None
    ) -> Morphology:
        """Return the morphology with these named values; parts that are not named are intact. See `updated`."""
        return cls.whole(robot).updated(values, locked_angles)

    # ---- questions -----------------------------------------------------------------------------------------------

    def has_leg(self, leg: str) -> bool:
        """Whether any part of the leg exists."""
        return self.fractions[self._leg_index(leg)][0] > 0

    def has_link(self, leg: str, link: str) -> bool:
        """Whether the link, or a part of it, exists."""
        return self.remaining(leg, link) > 0

    def remaining(self, leg: str, link: str) -> float:
        """Fraction of the link's length that is left, 0 if the link is missing."""
        index, place = self._index_of(leg, link)
        return self.fractions[index][place]

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
        return self.damages[index][place]

    def links(self, leg: str) -> tuple[Link, ...]:
        """The leg's existing links, from the body outward, with their present lengths and masses."""
        index = self._leg_index(leg)
        pairs = zip(self.robot.legs[index].links, self.fractions[index], strict=True)
        return tuple(link.cut(fraction) for link, fraction in pairs if fraction > 0)

    @cached_property
    def table(self) -> np.ndarray:
        """Properties of all joints in order, read-only array (4, joint_count).

        Rows: the fraction of the link's length that is left (0 if missing); 1 if the joint moves; the locked
        position [rad or m] (0 if not locked); 1 if the joint moves and its servo gives torque.
        """
        from hexapod_dynamics.core._core import joint_table  # protocols, checks and lists of parameters need no core

        return joint_table(self.fractions, self.damages)

    @property
    def existing_mask(self) -> np.ndarray:
        """Whether the link of each joint exists: bool array (joint_count,)."""
        return self.table[0].astype(bool)

    @property
    def moving_mask(self) -> np.ndarray:
        """Whether each joint exists and is not locked: bool array (joint_count,)."""
        return self.table[1].astype(bool)

    @property
    def driven_mask(self) -> np.ndarray:
        """Whether each joint moves and its servo gives torque (not limp): bool array (joint_count,)."""
        return self.table[3].astype(bool)

    @property
    def locked_positions(self) -> np.ndarray:
        """Locked position [rad or m] of each joint, 0 if it is not locked: read-only array (joint_count,)."""
        return self.table[2]

    @property
    def is_intact(self) -> bool:
        """Whether no part is missing or shortened and no joint damaged."""
        return self == Morphology.whole(self.robot)

    def describe(self) -> str:
        """Description of the damage: "RM missing, LM.femur missing, RF.tibia locked at 0.400"."""
        found = []
        for leg, fractions, joints in self._by_leg():
            if fractions[0] == 0:
                found.append(f"{leg.name} missing")
                continue
            for link, fraction, damage in zip(leg.links, fractions, joints, strict=True):
                part = f"{leg.name}.{link.name}"
                if damage is not None:
                    found.append(f"{part} {damage.kind.describe(damage.value, digits=3)}")
                if fraction < 1:
                    found.append(f"{part} broken, {fraction:.0%} left" if fraction else f"{part} missing")
                    break  # links beyond it are missing too
        return ", ".join(found) or "whole"

    # ---- by index, for the kinds of damage -----------------------------------------------------------------------

    def part_name(self, leg: int, link: int) -> str:
        """Return the name of a link from the indices of its leg and of itself: "LM.femur"."""
        return f"{self.robot.legs[leg].name}.{self.robot.legs[leg].link_names[link]}"

    def find_place(self, name: str) -> tuple[int, int | None]:
        """Return the indices of the leg and of the link (None: a whole leg) of a name such as "RM" or "LM.femur"."""
        if not isinstance(name, str):
            raise MorphologyError(f"{name!r} given, a name such as {self.part_name(0, 0)!r} needed")
        leg_name, dot, link_name = name.partition(".")
        leg = self._leg_index(leg_name)
        if not dot:
            return leg, None
        names = self.robot.legs[leg].link_names
        if link_name not in names:
            known = ", ".join(names)
            raise MorphologyError(f"{name!r}: leg {leg_name} has no link {link_name!r}; its links are {known}")
        return leg, names.index(link_name)

    def with_remaining(self, leg: int, link: int, fraction: float) -> Morphology:
        """Return the morphology with this fraction of a link (indices) left; links beyond a shortened one are lost."""
        old, joints = self.fractions[leg], self.damages[leg]
        if 0 < fraction < 1e-6:  # the mass of what is left would be too small to divide by
            raise MorphologyError(
                f"remaining.{self.part_name(leg, link)}: {fraction} given, 0 or at least 1e-06 needed"
            )
        if fraction < 1:
            fractions = old[:link] + (fraction,) + (0.0,) * (len(old) - link - 1)
        else:
            fractions = _replace(old, link, fraction)
        if joints.count(None) < len(joints):  # a joint whose link is lost is no longer damaged
            joints = tuple(damage if left else None for damage, left in zip(joints, fractions, strict=True))
        return self._replace_leg(leg, fractions, joints)

    def with_damage(self, leg: int, link: int, kind: JointKind, value: bool | float) -> Morphology:
        """Return the morphology with this damage of the joint of a link (indices); refused if the joint has
        another damage or the link is missing.
        """
        joints, own, name = self.damages[leg], kind.values[0].prefix, self.part_name(leg, link)
        if self.fractions[leg][link] == 0:
            raise MorphologyError(f"{own}.{name}: the link is missing and its joint with it; restore {name} first")
        damage = joints[link]
        if damage is not None and damage.kind is not kind:
            other, flag = damage.kind, damage.kind.values[0]
            raise MorphologyError(
                f"{own}.{name}: the joint is {other.name}, so {other.consequence}; "
                f"set {flag.prefix}.{name} to {str(flag.intact).lower()} first"
            )
        return self._replace_leg(leg, self.fractions[leg], _replace(joints, link, JointDamage(kind, value)))

    def with_working_joint(self, leg: int, link: int) -> Morphology:
        """Return the morphology with the joint of a link (indices) undamaged."""
        return self._replace_leg(leg, self.fractions[leg], _replace(self.damages[leg], link, None))

    # ---- inside --------------------------------------------------------------------------------------------------

    def _by_leg(self) -> Iterator[tuple[Leg, Fractions, Damages]]:
        """Each leg with its links' remaining fractions and its joints' damage."""
        return zip(self.robot.legs, self.fractions, self.damages, strict=True)

    def _leg_index(self, name: str) -> int:
        names = self.robot.leg_names
        if name in names:
            return names.index(name)
        raise MorphologyError(f"{name!r}: no such leg; the legs are {', '.join(names)}")

    def _index_of(self, leg: str, link: str) -> tuple[int, int]:
        """Return the indices of the leg and its link. Simulations call this often: no names are joined or split."""
        index = self._leg_index(leg)
        names = self.robot.legs[index].link_names
        return (index, names.index(link)) if link in names else self._link_place(f"{leg}.{link}")

    def _link_place(self, name: str) -> tuple[int, int]:
        leg, link = self.find_place(name)
        if link is None:
            raise MorphologyError(f"{name!r}: a link is needed, such as {name}.{self.robot.legs[leg].link_names[-1]}")
        return leg, link

    def _replace_leg(self, leg: int, fractions: Fractions, joints: Damages) -> Morphology:
        return Morphology(self.robot, _replace(self.fractions, leg, fractions), _replace(self.damages, leg, joints))

    def __reduce__(self) -> tuple[type[Morphology], tuple[Robot, tuple[Fractions, ...], tuple[Damages, ...]]]:
        return Morphology, (self.robot, self.fractions, self.damages)  # without its table

    def __repr__(self) -> str:
        return f"Morphology({self.robot.name}: {self.describe()})"


def _replace(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return values[:index] + (value,) + values[index + 1 :]
