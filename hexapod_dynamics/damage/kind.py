"""The kinds of damage: a missing leg or link, a shortened link, a locked joint, a limp joint; KINDS lists them.

Everything that the package knows about one kind is in its instance: its named values and their ranges, its option of
`set_morphology`, its effect on the model, its words and its colour. The named values are what `set_morphology`, the
topic `morphology` and the parameters call a damage.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.errors import MorphologyError, parse_number

FARTHEST_LOCK = 2.0 * math.pi  # [rad or m] of a locked joint: one turn, more than any servo reports
Value = bool | float  # of a named value


@dataclass(frozen=True)
class NamedValue:
    """One named value of each link, or of each leg: `locked.RF.tibia`, `legs.RM`.

    prefix: the first word of its name. intact: its value where nothing is damaged, a bool or a number. description: of
    the parameter, with <leg> or <link> in the place of the part. low, high, unit: range of a number. of_leg: whether it
    belongs to a whole leg.
    """

    prefix: str
    intact: Value
    description: str
    low: float | None = None
    high: float | None = None
    unit: str = ""
    of_leg: bool = False

    @property
    def bounds(self) -> str:
        """The range of a number in words: "0..1"."""
        return f"{self.low:.4g}..{self.high:.4g} {self.unit}".rstrip()

    def check(self, given: object, name: str) -> Value:
        """Return a given value as bool or float; MorphologyError, which names it, if it is not allowed.

        The refusal of an angle beyond its range suggests the value in radians, in case degrees were meant.
        """
        if isinstance(self.intact, bool):
            if not isinstance(given, (bool, np.bool_)):
                raise MorphologyError(f"{name}: {given!r} given, true or false needed")
            return bool(given)
        if isinstance(given, bool) or not isinstance(given, numbers.Real) or not math.isfinite(given):
            raise MorphologyError(f"{name}: {given!r} given, a finite number needed")
        value = float(given)
        if self.low is not None and self.high is not None and not self.low <= value <= self.high:
            in_degrees = self.unit == "rad" and abs(value) <= 360.0
            meant = f"; in radians: did you mean {math.radians(value):.3f}?" if in_degrees else ""
            raise MorphologyError(f"{name}: {given!r} given, {self.bounds} allowed{meant}")
        return value


@dataclass(frozen=True)
class CommandOption:
    """The option of `set_morphology` that declares a kind of damage: `--limp LEG.LINK`; example: of a number."""

    flag: str
    metavar: str
    help: str
    example: str = ""

    @property
    def name(self) -> str:
        """The name of the option without its dashes."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True, eq=False)
class DamageKind:
    """One kind of damage: of a leg or a link, what is left of it, or a JointKind. There is one instance in a process.

    name: "missing". values: its named values. option: of `set_morphology`, None: no option.
    """

    name: str
    values: tuple[NamedValue, ...]
    option: CommandOption | None = None

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return find_kind, (self.name,)

    def parse_word(self, word: str) -> dict[str, Value]:
        """Return the named values that a word after the option declares: RM, LM.femur, RF.tibia=0.4.

        Raises MorphologyError for a number that is none, or that is missing or given for no value of this kind.
        """
        part, given, number = word.partition("=")
        flags = [value for value in self.values if isinstance(value.intact, bool)]  # of a leg, of a link
        chosen = flags[-1:] if "." in part else flags[:1]
        declared: dict[str, Value] = {f"{flag.prefix}.{part}": not flag.intact for flag in chosen}
        if given or not flags:
            numeric = self.values[-1]
            try:
                declared[f"{numeric.prefix}.{part}"] = parse_number(number if numeric not in flags else "")
            except ValueError:
                flag, example = (self.option.flag, self.option.example) if self.option else ("", "")
                needed = f"a number {numeric.bounds} is needed, as {example}" if example else "no number belongs to it"
                raise MorphologyError(f"{flag} {word}: {needed}") from None
        return declared


@dataclass(frozen=True, eq=False)
class JointKind(DamageKind):
    """A kind of damage of a joint; a joint has one at a time. It is declared by its first named value.

    consequence: "it does not move", for the message that refuses a second damage. colour: of the link behind it in the
    URDF, red green blue opacity. stands: whether the joint stands at a position, the last of its named values; else it
    moves, and its servo gives no torque. preposition: of the position, in words. leg_walks: whether the gait walks on a
    leg with such a joint. menu_value: of its first named value, when a person chooses this damage in the view.
    """

    consequence: str = ""
    colour: str = ""
    stands: bool = False
    preposition: str = "at"
    leg_walks: bool = False
    menu_value: Value = True

    def is_declared(self, values: Mapping[str, Value], part: str) -> bool:
        """Return whether named values declare this damage of a part ("RF.tibia"); False if they do not name it."""
        own = self.values[0]
        return bool(values.get(f"{own.prefix}.{part}", own.intact) != own.intact)

    def describe(self, position: Value | None, digits: int) -> str:
        """Return the damage in words: "locked at 0.400", "limp"; without its position if that is None."""
        known = self.stands and position is not None
        return f"{self.name} {self.preposition} {position:.{digits}f}" if known else self.name


class JointDamage(NamedTuple):
    """What is wrong with a joint whose link exists: the kind, and its value: the position at which the joint stands
    [rad or m], True for a joint that moves.
    """

    kind: JointKind
    value: Value

    @property
    def lock(self) -> float | None:
        """The position [rad or m] at which the joint stands, without torque; None if it moves."""
        return self.value if self.kind.stands else None

    @property
    def limp(self) -> bool:
        """Whether the joint moves and its servo gives no torque."""
        return not self.kind.stands


# ---- the kinds -------------------------------------------------------------------------------------------------------

MISSING = DamageKind(
    "missing",
    (
        NamedValue("legs", True, "leg <leg> exists; setting true again restores the whole leg", of_leg=True),
        NamedValue("links", True, "link <link> exists; the links beyond a lost link are lost with it"),
    ),
    CommandOption("--missing", "NAME", "legs or links that are missing"),
)
LOCKED = JointKind(
    "locked",
    (
        NamedValue("locked", False, "the joint that moves link <link> is locked"),
        NamedValue(
            "locked_at",
            0.0,
            "angle of the locked joint of link <link> [rad]; if not given, the angle in joint_states at that moment",
            -FARTHEST_LOCK,
            FARTHEST_LOCK,
            "rad",
        ),
    ),
    CommandOption(
        "--locked",
        "LEG.LINK[=ANGLE]",
        "joints that do not turn any more, and where they stand [rad]; without an angle: where they are now",
        "RF.tibia=0.4",
    ),
    consequence="it does not move",
    colour="0.85 0.10 0.10 1",
    stands=True,
)
LIMP = JointKind(
    "limp",
    (NamedValue("limp", False, "the joint that moves link <link> turns freely, its servo exerts no torque"),),
    CommandOption("--limp", "LEG.LINK", "joints that move freely: their servos give no torque"),
    consequence="it moves",
    colour="0.55 0.55 0.55 0.6",
)
SHORT = DamageKind(
    "short",
    (NamedValue("remaining", 1.0, "remaining fraction of the length of link <link>", 0.0, 1.0),),
    CommandOption(
        "--remaining", "LEG.LINK=FRACTION", "links of which only a fraction 0..1 of the length is left", "LF.tibia=0.5"
    ),
)


class Registry:
    """The kinds of damage in the order of their named values, options and texts.

    kinds; joint_kinds: those of a joint. values: the named values of all kinds by prefix.
    """

    def __init__(self, kinds: tuple[DamageKind, ...]) -> None:
        """Create a registry; ValueError if two kinds have the same name or the same prefix of a named value."""
        self._set(kinds)

    def _set(self, kinds: tuple[DamageKind, ...]) -> None:
        values = [value for kind in kinds for value in kind.values]
        for what, names in (("name", [k.name for k in kinds]), ("prefix", [value.prefix for value in values])):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"kinds of damage: {what} {', '.join(twice)} given twice; give each kind its own")
        self.kinds = kinds
        self.joint_kinds = tuple(kind for kind in kinds if isinstance(kind, JointKind))
        self.values = {value.prefix: value for value in values}

    def __iter__(self) -> Iterator[DamageKind]:
        return iter(self.kinds)

    @property
    def injuries(self) -> list[tuple[NamedValue, Value | None]]:
        """Named values that damage an intact part, with the value that does; None: any fraction. For random damage."""
        found: list[tuple[NamedValue, Value | None]] = []
        for kind in self.kinds:
            if isinstance(kind, JointKind):
                found.append((kind.values[0], kind.menu_value))
            else:
                found += [(value, False if value.intact is True else None) for value in kind.values]
        return found

    @contextmanager
    def include(self, kind: DamageKind) -> Iterator[None]:
        """Add a kind within a `with` block, for tests and experiments."""
        before = self.kinds
        self._set((*before, kind))
        try:
            yield
        finally:
            self._set(before)


KINDS = Registry((MISSING, LOCKED, LIMP, SHORT))


def find_kind(name: str) -> DamageKind:
    """Return the registered kind of this name, as a pickle does."""
    return next(kind for kind in KINDS if kind.name == name)
