"""The errors of this package, which name the given value, what is allowed and the remedy; checks that raise them."""

from __future__ import annotations

# Neither from `typing` nor from `math`: the command `stop` loads this file and must be fast.
TYPE_CHECKING = False
INFINITY = float("inf")
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class HexapodError(ValueError):
    """Base of all errors of this package."""


class RobotError(HexapodError):
    """An impossible robot description; the message names the key and the value."""


class MorphologyError(HexapodError):
    """An impossible change of morphology; nothing has changed."""


class UnboundGaitError(HexapodError, AttributeError):
    """A gait has no such attribute, or has it only once it is bound to a robot."""


class ReachError(HexapodError):
    """A foot target that the leg cannot reach."""


class DeviceError(HexapodError):
    """A device (servo bus, IMU) that does not answer or answers wrongly."""


class MissingPackageError(DeviceError):
    """A Python package that a device needs is not installed: a restart does not help."""


class DynamicsError(HexapodError):
    """Input to a dynamics function that has the wrong shape, is not finite or does not describe a chain."""


class DivergedError(HexapodError):
    """A simulation whose numbers are not finite any more: its step is too long for the robot."""


class RobotWarning(UserWarning):
    """A part of a robot description that this package does not use; the message names it."""


class RecordingWarning(UserWarning):
    """A part of a recording that is not used, or is less exact than its form promises; the message names it."""


class HeldTipsWarning(RuntimeWarning):
    """Forward dynamics with held feet for which no forces exist that hold them: their tips accelerate."""


class ParameterError(HexapodError):
    """A node's parameter of a wrong type, out of its range or not among its choices."""


class UnsafePathError(HexapodError):
    """A file or directory whose content another user could have put there."""


class CompilerError(HexapodError):
    """C code cannot be compiled: there is no compiler, or it reports an error."""


class StoredStateError(HexapodError):
    """A stored state that cannot be read or has another structure."""


class IdentificationError(HexapodError):
    """Identification has too little or wrong data."""


def require_positive(
    values: Mapping[str, object], error: type[HexapodError] = HexapodError, *, zero: bool = False
) -> None:
    """Raise `error` for the first of some named numbers, or tuples of numbers, that is not a finite number above 0;
    zero: 0 is allowed, too.
    """
    from numbers import Real  # not above, so that `stop` starts fast

    for name, value in values.items():
        for number in value if isinstance(value, tuple) else (value,):
            is_number = isinstance(number, Real) and not isinstance(number, bool)  # Python's and numpy's
            if not is_number or not (0.0 < number < INFINITY or (zero and number == 0.0)):
                raise error(f"{name}: given {value!r}, a finite number {'from' if zero else 'above'} 0 is needed")


def require_instance(name: str, given: object, kind: type, error: type[HexapodError] = HexapodError) -> None:
    """Raise `error` unless the value of an argument is of a class, whose MADE_BY, if any, tells how to make one."""
    if not isinstance(given, kind):
        made_by = getattr(kind, "MADE_BY", f"{kind.__name__}(...) makes one")
        raise error(f"{name}: {shorten(repr(given))} given, a {kind.__name__} needed ({made_by})")


def is_finite(value: object) -> bool:
    """Whether a value is a finite number, Python's or numpy's."""
    if not isinstance(value, (int, float)):  # also float64; the gait asks in each tick
        from numbers import Real  # not above, so that `stop` starts fast

        if not isinstance(value, Real):
            return False
    return value - value == 0  # NaN for what is not finite


def require_finite(**values: object) -> None:
    """Raise HexapodError for the first of some named values that is not a finite number."""
    for name, value in values.items():
        # Most are floats, and need no call: each reading of a robot is checked.
        if not (type(value) is float and value - value == 0.0) and not is_finite(value):
            raise HexapodError(f"{name}: {value!r} given, a finite number needed")


def parse_number(text: str) -> float:
    """Return the number of a text that a person wrote, as XML, C and ROS read it; ValueError for another text.

    `float` alone also reads 1_000, a slip of 1.000, as 1000, and the digits of all scripts.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is no number")
    return float(text)


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest of some known names; the first in the alphabet if none resembles `name`, "" without any."""
    import difflib

    names = sorted(known)
    found = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=1, cutoff=0.0)
    return next(each for each in names if each.lower() == found[0]) if found else ""


def suggest(name: str, known: Iterable[str], *, most: int = 12) -> str:
    """Return the part of an error message that names the nearest of the known names, and all if they are few."""
    names = list(known)
    few = f"; allowed are {', '.join(names)}" if len(names) <= most else ""
    return f"did you mean {find_nearest(name, names)!r}?{few}" if names else "none is allowed here"


def shorten(text: str) -> str:
    """Return a text, which may quote what was sent, as one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]}..."
