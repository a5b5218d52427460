"""Which legs and links exist, which joints are locked or limp, how much of a link is left: immutable, hashable.

The existence numbers lam_i, lam_ij are those of Farghdani & Chhabra 2025, definition 1; locked joints, limp joints and
shortened links are further kinds of damage (docs/whole_body_model.md). Parts beyond a lost or broken link are lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.robot.parts import Link

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

# First words of the named values, in the order in which `parameters` gives them.
KINDS = ("legs", "links", "locked", "locked_at", "limp", "remaining")
# Largest locked position [rad or m]: one turn, more than any servo reports.
FARTHEST_LOCK = 2.0 * math.pi
# Smallest remaining fraction other than 0, so that the mass of the link is not too small to divide by.
SMALLEST_STUMP = 1e-6


class Morphology:
    """The remaining structure of a robot. Every change returns a new Morphology; an impossible one raises
    MorphologyError.
    """

    __slots__ = ("_robot", "_remaining", "_locked", "_limp", "_hash", "_table", "__weakref__")

    def __init__(
        self,
        robot: Robot,
        remaining: tuple[tuple[float, ...], ...],
        locked: tuple[tuple[float | None, ...], ...],
        limp: tuple[tuple[bool, ...], ...] | None = None,
    ) -> None:
        """Create a Morphology by `Morphology.whole(robot)` and its methods instead.

        remaining: of each leg, each link's remaining fraction, 0 where it is gone; locked: of each leg, each joint's
        locked position [rad or m], None where it moves; limp: of each leg, which joints have no torque (default: none).
        """
        self._robot, self._remaining, self._locked = robot, remaining, locked
        self._limp = tuple((False,) * len(locks) for locks in locked) if limp is None else limp
        self._hash: int | None = None
        self._table: np.ndarray | None = None

    @classmethod
    def whole(cls, robot: Robot) -> Morphology:
        """The robot with nothing missing, locked, limp or broken."""
        new = cls(
            robot,
            tuple((1.0,) * len(leg.links) for leg in robot.legs),
            tuple((None,) * len(leg.joints) for leg in robot.legs),
        )
        new._table = new._make_table()  # what is derived from it copies it, which is faster than to compute one
        return new

    # ---- changes -------------------------------------------------------------------------------------------------

    def without(self, *names: str) -> Morphology:
        """Without the legs ("RM") and links ("LM.femur") named, nor the links beyond them."""
        new = self
        for name in names:
            leg, link = new._place(name)
            new = new._with_link(leg, link or 0, 0.0)
        return new

    def locked(self, name: str, angle: float) -> Morphology:
        """With the joint that moves link `name` ("RF.tibia") locked at `angle` [rad or m]; its links stay.

        Angles beyond one turn (6.283) are refused: they are degrees.
        """
        leg, link = self._link_place(name)
        if self._remaining[leg][link] == 0:
            raise MorphologyError(f"locked.{name}: the link is missing and its joint with it; restore {name} first")
        if self._limp[leg][link]:
            raise MorphologyError(f"locked.{name}: the joint is limp, so it moves; set limp.{name} to false first")
        return self._with_lock(leg, link, _position(angle, f"locked.{name}"))

    def limp(self, name: str) -> Morphology:
        """With the joint that moves link `name` ("LR.femur") limp: it moves freely, its servo gives no torque."""
        leg, link = self._link_place(name)
        if self._remaining[leg][link] == 0:
            raise MorphologyError(f"limp.{name}: the link is missing and its joint with it; restore {name} first")
        if self._locked[leg][link] is not None:
            raise MorphologyError(
                f"limp.{name}: the joint is locked, so it does not move; set locked.{name} to false first"
            )
        return self._with_limp(leg, link, True)

    def broken(self, name: str, remaining: float) -> Morphology:
        """With link `name` cut off at the fraction `remaining` (0..1) of its whole length; links beyond it are lost.

        0 is the same as without(name). A link that is shorter already stays as it is: `restored` makes it whole.
        """
        leg, link = self._link_place(name)
        remaining = _fraction(remaining, f"remaining.{name}")
        if self._remaining[leg][link] == 0 and remaining > 0:
            raise MorphologyError(f"remaining.{name}: the link is missing; restore {name} first")
        if remaining >= self._remaining[leg][link]:
            return self
        return self._with_link(leg, link, remaining)

    def restored(self, name: str) -> Morphology:
        """With the leg ("LF", all of it) or the one link ("LF.tibia") back: whole, neither locked nor limp."""
        leg, link = self._place(name)
        if link is None:
            new = self
            for index in range(len(self._remaining[leg])):
                new = new._with_lock(leg, index, None)._with_limp(leg, index, False)._with_link(leg, index, 1.0)
            return new
        if link and self._remaining[leg][link - 1] < 1:
            inner = f"{self._robot.legs[leg].name}.{self._robot.legs[leg].links[link - 1].name}"
            state = "missing" if self._remaining[leg][link - 1] == 0 else "broken off"
            raise MorphologyError(f"links.{name}: cannot come back while {inner} is {state}; restore {inner} first")
        return self._with_lock(leg, link, None)._with_limp(leg, link, False)._with_link(leg, link, 1.0)

    def updated(self, values: Mapping[str, object], locked_angles: Mapping[str, float] | None = None) -> Morphology:
        """With named values changed, all of them or none.

        The names are "legs.RM", "links.LM.femur", "locked.RF.tibia", "limp.LR.femur" (bool), "locked_at.RF.tibia"
        (float, rad or m: where the locked joint stands) and "remaining.LF.tibia" (float 0..1).

        locked_angles: position [rad or m] of newly locked joints for which `values` has no locked_at, by
        "RF.tibia" or joint name. Changes are applied from the body outward, restored parts before removed ones, so that
        their order does not matter. locked_at 0.0 of a joint that is not locked is ignored.
        """
        angles = dict(locked_angles or {})
        changes = self._checked(values)
        new = self
        for index, leg in enumerate(self._robot.legs):
            present = changes.get(("legs", index, None))
            if present is False:
                for (kind, where, link), value in changes.items():
                    if where == index and value and kind != "legs":
                        name = f"{leg.name}.{leg.links[link].name}"
                        raise MorphologyError(
                            f"{kind}.{name}: {value!r} asks for a part of leg {leg.name}, "
                            f"which legs.{leg.name}: False takes away"
                        )
                new = new.without(leg.name)
                continue
            if present is True and new._remaining[index][0] == 0:
                new = new.restored(leg.name)
            for link in range(len(leg.links)):
                new = new._updated_link(index, link, changes, angles)
        return new

    def _updated_link(self, leg: int, link: int, changes: dict, angles: Mapping[str, float]) -> Morphology:
        robot_leg = self._robot.legs[leg]
        name = f"{robot_leg.name}.{robot_leg.links[link].name}"
        exists = changes.get(("links", leg, link))
        fraction = changes.get(("remaining", leg, link))
        lock, angle = changes.get(("locked", leg, link)), changes.get(("locked_at", leg, link))
        limp = changes.get(("limp", leg, link))
        if lock and limp:
            raise MorphologyError(f"limp.{name}: true together with locked.{name}: true; a joint is one or the other")
        new = self
        if exists is True and fraction == 0:
            raise MorphologyError(f"remaining.{name}: 0 is a missing link, but links.{name}: True asks for it")
        if exists is True and new._remaining[leg][link] == 0:
            new = new.restored(name)
        elif exists is False:
            if fraction:
                raise MorphologyError(
                    f"remaining.{name}: {fraction!r} given, but links.{name} is false: the link is missing"
                )
            new = new.without(name)
        if fraction is not None:
            if new._remaining[leg][link] == 0 and fraction > 0:
                raise MorphologyError(f"remaining.{name}: the link is missing; restore {name} first")
            new = new._with_link(leg, link, fraction)  # more than there was, too: what is declared is what there is
        if limp is False:
            new = new._with_limp(leg, link, False)
        was = new._locked[leg][link]
        if lock is False or (lock is None and was is None):
            if angle:
                raise MorphologyError(
                    f"locked_at.{name}: {angle!r} given, but the joint is not locked; give locked.{name}: true with it"
                )
            new = new if was is None else new._with_lock(leg, link, None)
            return new.limp(name) if limp else new
        if angle is None and was is None:
            joint = robot_leg.joints[link].name
            angle = angles.get(name, angles.get(joint))
            if angle is not None:
                angle = _position(angle, f"locked_at.{name}")
            elif new._remaining[leg][link] > 0:
                raise MorphologyError(
                    f"locked.{name}: the angle at which {joint} locked is not known; give locked_at.{name} [rad]"
                )
            else:
                angle = 0.0  # of a missing link: refused below
        new = new if angle is None else new.locked(name, angle)
        return new.limp(name) if limp else new

    def _checked(self, values: Mapping[str, object]) -> dict:
        """Named values by (kind, leg, link), each of a known name and the right type."""
        changes = {}
        for key, value in values.items():
            kind, _, name = key.partition(".")
            if kind not in KINDS:
                raise MorphologyError(f"{key}: unknown; names begin with {'., '.join(KINDS[:-1])}. or {KINDS[-1]}.")
            leg, link = self._place(name)
            if (link is None) != (kind == "legs"):
                example = f"legs.{self._robot.legs[0].name}" if kind == "legs" else f"{kind}.{self._link_names()[0]}"
                raise MorphologyError(f"{key}: unknown; such a name looks like {example}")
            if kind == "remaining":
                value = _fraction(value, key)
            elif kind == "locked_at":
                value = _position(value, key)
            elif not isinstance(value, (bool, np.bool_)):
                raise MorphologyError(f"{key}: {value!r} given, true or false needed")
            changes[kind, leg, link] = value
        return changes

    # ---- named values --------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, bool | float]:
        """The whole set of named values, as in the topic `morphology` and the parameters of damage_manager."""
        legs, links, locked, locked_at, limp, remaining = {}, {}, {}, {}, {}, {}
        for leg, fractions, locks, limps in self._by_leg():
            legs[f"legs.{leg.name}"] = fractions[0] > 0
            for link, fraction, lock, is_limp in zip(leg.links, fractions, locks, limps, strict=True):
                name = f"{leg.name}.{link.name}"
                links[f"links.{name}"] = fraction > 0
                locked[f"locked.{name}"] = lock is not None
                locked_at[f"locked_at.{name}"] = 0.0 if lock is None else lock
                limp[f"limp.{name}"] = is_limp
                remaining[f"remaining.{name}"] = fraction
        return legs | links | locked | locked_at | limp | remaining

    @classmethod
    def from_parameters(
        cls, robot: Robot, values: Mapping[str, object], locked_angles: Mapping[str, float] | None = None
    ) -> Morphology:
        """The morphology with these named values; parts that are not named are whole. See `updated`."""
        return cls.whole(robot).updated(values, locked_angles)

    # ---- questions -----------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The robot this is a morphology of."""
        return self._robot

    def has_leg(self, leg: str) -> bool:
        """Whether any part of the leg exists."""
        return self._remaining[self._leg_index(leg)][0] > 0

    def has_link(self, leg: str, link: str) -> bool:
        """Whether the link, or a part of it, exists."""
        return self.remaining(leg, link) > 0

    def remaining(self, leg: str, link: str) -> float:
        """Fraction of the link's length that is left, 0 where it is gone."""
        index, place = self._index_of(leg, link)
        return self._remaining[index][place]

    def locked_angle(self, leg: str, link: str) -> float | None:
        """Position [rad or m] at which the joint that moves the link is locked; None where it is not."""
        index, place = self._index_of(leg, link)
        return self._locked[index][place]

    def is_limp(self, leg: str, link: str) -> bool:
        """Whether the joint that moves the link is limp: it moves, and its servo gives no torque."""
        index, place = self._index_of(leg, link)
        return self._limp[index][place]

    def links(self, leg: str) -> tuple[Link, ...]:
        """The leg's existing links, from the body outward, as long and as heavy as they are now."""
        index = self._leg_index(leg)
        pairs = zip(self._robot.legs[index].links, self._remaining[index], strict=True)
        return tuple(link.cut(fraction) for link, fraction in pairs if fraction > 0)

    @property
    def table(self) -> np.ndarray:
        """Of all joints in order, read-only array (4, joint_count).

        Rows: the fraction of the link's length that is left (0 where gone); 1 where the joint moves; the locked
        position [rad or m] (0 where not locked); 1 where the joint moves and its servo gives torque.
        """
        if self._table is None:
            self._table = self._make_table()
        return self._table

    def _make_table(self) -> np.ndarray:
        parts = zip(self._remaining, self._locked, self._limp, strict=True)
        table = np.concatenate([_columns(*part) for part in parts], axis=1)
        table.flags.writeable = False
        return table

    @property
    def existing_mask(self) -> np.ndarray:
        """Of all joints, those whose link exists: bool array (joint_count,)."""
        return self.table[0] > 0

    @property
    def moving_mask(self) -> np.ndarray:
        """Of all joints, those that exist and are not locked: bool array (joint_count,)."""
        return self.table[1] > 0

    @property
    def driven_mask(self) -> np.ndarray:
        """Of all joints, those that move and whose servo gives torque (not limp): bool array (joint_count,)."""
        return self.table[3] > 0

    @property
    def locked_positions(self) -> np.ndarray:
        """Of all joints, the locked position [rad or m], 0 where not locked: read-only array (joint_count,)."""
        return self.table[2]

    @property
    def is_whole(self) -> bool:
        """Whether no part is missing, locked, limp or broken."""
        parts = zip(self._remaining, self._locked, self._limp, strict=True)
        return all(set(part) == {1.0} and set(locks) <= {None} and not any(limps) for part, locks, limps in parts)

    def describe(self) -> str:
        """Description of the damage: "RM missing, LM.femur missing, RF.tibia locked at 0.400"."""
        parts = []
        for leg, fractions, locks, limps in self._by_leg():
            if fractions[0] == 0:
                parts.append(f"{leg.name} missing")
                continue
            for link, fraction, lock, limp in zip(leg.links, fractions, locks, limps, strict=True):
                name = f"{leg.name}.{link.name}"
                if lock is not None:
                    parts.append(f"{name} locked at {lock:.3f}")
                if limp:
                    parts.append(f"{name} limp")
                if fraction < 1:
                    parts.append(f"{name} broken, {fraction:.0%} left" if fraction else f"{name} missing")
                    break  # links beyond it are missing too
        return ", ".join(parts) or "whole"

    # ---- inside --------------------------------------------------------------------------------------------------

    def _by_leg(self) -> Any:
        """Each leg with its links' remaining fractions, its joints' locked positions, and which of them are limp."""
        return zip(self._robot.legs, self._remaining, self._locked, self._limp, strict=True)

    def _leg_index(self, name: str) -> int:
        for index, leg in enumerate(self._robot.legs):
            if leg.name == name:
                return index
        raise MorphologyError(f"{name!r}: no such leg; the legs are {', '.join(self._robot.leg_names)}")

    def _index_of(self, leg: str, link: str) -> tuple[int, int]:
        """Index of the leg and of its link. Simulations ask often: no names are joined or split."""
        index = self._leg_index(leg)
        names = self._robot.legs[index].link_names
        return (index, names.index(link)) if link in names else self._link_place(f"{leg}.{link}")

    def _link_names(self) -> list[str]:
        return [f"{leg.name}.{link}" for leg in self._robot.legs for link in leg.link_names]

    def _place(self, name: str) -> tuple[int, int | None]:
        """Index of the leg, and of the link (None for a whole leg), of a name such as "RM" or "LM.femur"."""
        if not isinstance(name, str):
            raise MorphologyError(f"{name!r} given, a name such as {self._link_names()[0]!r} needed")
        leg_name, dot, link_name = name.partition(".")
        leg = self._leg_index(leg_name)
        if not dot:
            return leg, None
        names = self._robot.legs[leg].link_names
        if link_name not in names:
            known = ", ".join(names)
            raise MorphologyError(f"{name!r}: leg {leg_name} has no link {link_name!r}; its links are {known}")
        return leg, names.index(link_name)

    def _link_place(self, name: str) -> tuple[int, int]:
        leg, link = self._place(name)
        if link is None:
            raise MorphologyError(f"{name!r}: a link is needed, such as {name}.{self._robot.legs[leg].link_names[-1]}")
        return leg, link

    def _with_link(self, leg: int, link: int, fraction: float) -> Morphology:
        old, locks, limp = self._remaining[leg], self._locked[leg], self._limp[leg]
        if fraction < 1:  # links beyond it are removed too
            fractions = old[:link] + (fraction,) + (0.0,) * (len(old) - link - 1)
        else:
            fractions = _replaced(old, link, fraction)
        if locks.count(None) < len(locks):
            locks = tuple(lock if left else None for lock, left in zip(locks, fractions, strict=True))
        if True in limp:
            limp = tuple(is_limp and left > 0 for is_limp, left in zip(limp, fractions, strict=True))
        return self._with_leg(leg, fractions, locks, limp)

    def _with_lock(self, leg: int, joint: int, angle: float | None) -> Morphology:
        return self._with_leg(leg, self._remaining[leg], _replaced(self._locked[leg], joint, angle), self._limp[leg])

    def _with_limp(self, leg: int, joint: int, limp: bool) -> Morphology:
        return self._with_leg(leg, self._remaining[leg], self._locked[leg], _replaced(self._limp[leg], joint, limp))

    def _with_leg(self, leg: int, fractions: tuple, locks: tuple, limp: tuple) -> Morphology:
        new = Morphology(
            self._robot,
            _replaced(self._remaining, leg, fractions),
            _replaced(self._locked, leg, locks),
            _replaced(self._limp, leg, limp),
        )
        if self._table is not None:  # faster than to compute the whole table
            first = self._robot.joint_starts[leg]
            table = new._table = self._table.copy()
            table[:, first : first + len(fractions)] = _columns(fractions, locks, limp)
            table.flags.writeable = False
        return new

    def __copy__(self) -> Morphology:
        return self  # immutable

    def __deepcopy__(self, memo: Any) -> Morphology:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Morphology)
            and self._remaining == other._remaining
            and self._locked == other._locked
            and self._limp == other._limp
            and self._robot == other._robot
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self._robot, self._remaining, self._locked, self._limp))
        return self._hash

    def __reduce__(self) -> tuple[Any, tuple[Any, Any, Any, Any]]:
        return Morphology, (self._robot, self._remaining, self._locked, self._limp)

    def __repr__(self) -> str:
        return f"Morphology({self._robot.name}: {self.describe()})"


@lru_cache(maxsize=256)
def _columns(fractions: tuple, locks: tuple, limp: tuple) -> np.ndarray:
    """A leg's columns of `table`: what is left, whether the joint moves, where it is locked, whether it has torque."""
    moving = [1.0 if lock is None and left else 0.0 for left, lock in zip(fractions, locks, strict=True)]
    driven = [0.0 if is_limp else moves for moves, is_limp in zip(moving, limp, strict=True)]
    return np.array([fractions, moving, [lock or 0.0 for lock in locks], driven])


def _replaced(values: tuple, index: int, value: Any) -> tuple:
    return values[:index] + (value,) + values[index + 1 :]


def _finite(value: Any, name: str) -> float:
    """A finite float, or a MorphologyError that names it (bool is not a number here)."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise MorphologyError(f"{name}: {value!r} given, a finite number needed")
    return float(value)


def _position(given: Any, what: str) -> float:
    value = _finite(given, what)
    if abs(value) > FARTHEST_LOCK:
        meant = f"; in radians: did you mean {math.radians(value):.3f}?" if abs(value) <= 360.0 else ""
        raise MorphologyError(f"{what}: {given!r} given, at most {FARTHEST_LOCK:.3f} rad from zero are allowed{meant}")
    return value


def _fraction(value: Any, what: str) -> float:
    value = _finite(value, what)
    if not (value == 0.0 or SMALLEST_STUMP <= value <= 1.0):
        raise MorphologyError(
            f"{what}: {value!r} given, a fraction 0..1 of the link's length needed (0, or at least {SMALLEST_STUMP})"
        )
    return value
