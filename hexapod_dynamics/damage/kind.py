"""The base classes of the kinds of damage, and their named values.

Everything that the package knows about one kind is in its class. The named values are what `set_morphology`, the topic
`morphology` and the parameters call a damage.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hexapod_dynamics.errors import MorphologyError

if TYPE_CHECKING:
    from hexapod_dynamics.robot.morphology import Morphology

# Returns a morphology with one random damage more: of the leg (index) or of its link (index). `position`: the present
# position of the joint [rad or m], at which it locks; share: range of what a partial damage leaves.
RandomChange = Callable[[np.random.Generator, "Morphology", int, int, float, tuple[float, float]], "Morphology"]
# Largest locked position [rad or m]: one turn, more than any servo reports.
FARTHEST_LOCK = 2.0 * math.pi
# Smallest remaining fraction other than 0: the mass of the link must not be too small to divide by.
SMALLEST_STUMP = 1e-6
Value = bool | float  # of a named value


@dataclass(frozen=True)
class NamedValue:
    """One named value of each link, or of each leg: `locked.RF.tibia`, `legs.RM`.

    prefix: the first word of its name. intact: its value where nothing is damaged. description: of the parameter, with
    <leg> or <link> in the place of the part. check(value, full name): returns the given value as bool or float, or
    raises MorphologyError. read(state): returns the named value of what a morphology stores of this kind of damage
    (a LinkKind: the remaining fraction of the link; a JointKind: the value of the joint's damage). unit: of a
    number, for messages. low, high: range of a number. of_leg: whether it belongs to a whole leg.
    """

    prefix: str
    intact: Value
    description: str
    check: Callable[[object, str], Value]
    read: Callable[[Value], Value]
    unit: str = ""
    low: float | None = None
    high: float | None = None
    of_leg: bool = False


def check_truth(value: object, name: str) -> bool:
    """Return a bool, or raise a MorphologyError that names it."""
    if not isinstance(value, (bool, np.bool_)):
        raise MorphologyError(f"{name}: {value!r} given, true or false needed")
    return bool(value)


def check_number(value: object, name: str) -> float:
    """Return a finite float, or raise a MorphologyError that names it (bool is not a number here)."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not math.isfinite(value)
    ):
        raise MorphologyError(f"{name}: {value!r} given, a finite number needed")
    return float(value)


def check_position(given: object, name: str) -> float:
    """Return a joint position [rad or m] of at most one turn; the refusal of a larger one suggests the value in
    radians, in case degrees were meant.
    """
    value = check_number(given, name)
    if abs(value) > FARTHEST_LOCK:
        meant = f"; in radians: did you mean {math.radians(value):.3f}?" if abs(value) <= 360.0 else ""
        raise MorphologyError(f"{name}: {given!r} given, at most {FARTHEST_LOCK:.3f} rad from zero are allowed{meant}")
    return value


def check_fraction(value: object, name: str) -> float:
    """Return a remaining fraction of a link's length: 0, or SMALLEST_STUMP to 1."""
    fraction = check_number(value, name)
    if not (fraction == 0.0 or SMALLEST_STUMP <= fraction <= 1.0):
        raise MorphologyError(
            f"{name}: {value!r} given, a fraction 0..1 of the link's length needed (0, or at least {SMALLEST_STUMP})"
        )
    return fraction


class JointDamage(NamedTuple):
    """What is wrong with a joint whose link exists, made by `JointKind.damage`.

    kind: the kind of damage. value: its parameter (the position of a lock [rad or m], True for a limp joint). lock
    [rad or m]: the position at which the joint stands, without torque; None if it moves. limp: whether it moves and its
    servo gives no torque.
    """

    kind: JointKind
    value: Value
    lock: float | None = None
    limp: bool = False


@dataclass(frozen=True)
class CommandOption:
    """The option of `set_morphology` that declares a kind of damage: `--limp LEG.LINK`."""

    flag: str
    metavar: str
    help: str

    @property
    def name(self) -> str:
        """The name of the option without its dashes."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class LinkRequest:
    """What one request demands for one link.

    leg, link: indices. name: "RF.tibia"; joint: the name of the joint that moves it. values: by prefix, checked.
    angles: measured joint positions [rad or m], by link or joint name.
    """

    leg: int
    link: int
    name: str
    joint: str
    values: Mapping[str, Value]
    angles: Mapping[str, float] = field(default_factory=dict)


class DamageKind(ABC):
    """One kind of damage: a LinkKind or a JointKind. Its one instance is a global of its module, its name in capitals.

    name: "locked". values: its named values. option: of `set_morphology`, None: no option.
    """

    name: str
    values: tuple[NamedValue, ...]
    option: CommandOption | None = None

    def __reduce__(self) -> str:
        return self.name.upper()  # pickled as the global of its module: there is one instance in each process

    def parse_word(self, word: str) -> dict[str, bool | float]:
        """Return the named values of one word after the option, such as RF.tibia=0.4; MorphologyError if it is
        wrong.
        """
        return {f"{self.values[0].prefix}.{word}": not self.values[0].intact}

    @abstractmethod
    def describe_values(self, values: Mapping[str, Value], part: str) -> str:
        """Return this damage of a part, as named values state it, for the status line ("RF.tibia locked at 0.40");
        empty if there is none.
        """

    @abstractmethod
    def random_changes(self) -> tuple[RandomChange, ...]:
        """Return the functions that draw a random damage of this kind, equally likely: for learning and tests."""


class LinkKind(DamageKind):
    """A kind of damage of a link: how much of the link is left. `read` of its named values takes the remaining
    fraction.
    """

    def check_request(self, request: LinkRequest) -> None:
        """Raise MorphologyError if the values contradict each other, whatever the present morphology."""

    @abstractmethod
    def change(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology with the link as the request demands; called before all changes of joints."""

    @abstractmethod
    def describe(self, remaining: float) -> str:
        """Return this damage of a link in words ("broken, 50% left"); empty if the link does not have it."""


class JointKind(DamageKind):
    """A kind of damage of a joint. A joint has one at a time. `read` of its named values takes the value of the
    damage.

    state: "locked"; consequence: "it does not move", for the message that refuses a second damage. colour: of the
    link behind it in the URDF, red green blue opacity. leg_walks: whether the gait walks on a leg with such a
    joint. menu_value: of its first named value, when a person chooses this damage in the view's menu of a joint.
    """

    state: str
    consequence: str
    colour: str
    leg_walks = False
    menu_value: bool | float = True

    @abstractmethod
    def damage(self, value: Value) -> JointDamage:
        """Return the damage of a joint with this value."""

    def describe(self, value: Value) -> str:
        """Return the damage in words: "locked at 0.400"."""
        return self.state

    def describe_values(self, values: Mapping[str, Value], part: str) -> str:
        """Return the part and its state, as "LR.femur limp"; empty if the joint does not have this damage."""
        return f"{part} {self.state}" if self.is_declared(values, part) else ""

    def is_declared(self, values: Mapping[str, Value], part: str) -> bool:
        """Return whether named values declare this damage of a part ("RF.tibia"); False if they do not name the
        part.
        """
        own = self.values[0]
        return bool(values.get(f"{own.prefix}.{part}", own.intact) != own.intact)

    def choose(self, chosen: bool) -> bool | float:
        """Return the first named value when a person has chosen this damage in the view's menu, or another state."""
        return self.menu_value if chosen else self.values[0].intact

    def is_asked(self, request: LinkRequest) -> bool:
        """Return whether the request asks for this damage."""
        own = self.values[0]
        return bool(request.values.get(own.prefix, own.intact) != own.intact)

    def end(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology without this damage if the request gives the value of an intact joint."""
        own = self.values[0]
        damage = morphology.damage_at(request.leg, request.link)
        if damage is None or damage.kind is not self or request.values.get(own.prefix) != own.intact:
            return morphology
        return morphology.with_working_joint(request.leg, request.link)

    def begin(self, morphology: Morphology, request: LinkRequest) -> Morphology:
        """Return the morphology with this damage if the request asks for it; MorphologyError: impossible."""
        if not self.is_asked(request):
            return morphology
        return morphology.with_damage(request.leg, request.link, self, request.values[self.values[0].prefix])

    def refuse(self, name: str, damage: JointDamage | None) -> MorphologyError:
        """Return why a joint cannot be damaged like this: it has another damage, or its link (by name) is missing."""
        own = self.values[0].prefix
        if damage is None:
            return MorphologyError(f"{own}.{name}: the link is missing and its joint with it; restore {name} first")
        other = damage.kind
        return MorphologyError(
            f"{own}.{name}: the joint is {other.state}, so {other.consequence}; "
            f"set {other.values[0].prefix}.{name} to {str(other.values[0].intact).lower()} first"
        )
