"""Named values of a morphology: what `set_morphology`, the topic `morphology` and the parameters call a damage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import MorphologyError

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
