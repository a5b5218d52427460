"""Checks of what people give: YAML, read key by key, and fields of dataclasses (`Part`).

Every error names the key, the value and what is allowed.
"""

from __future__ import annotations

import math
import numbers
import re
import reprlib
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.errors import RobotError, parse_number
from hexapod_dynamics.se3 import inertia_matrix

MISSING = object()
quote = reprlib.repr  # of a value in a message: shortened if it is long


class Section:
    """A YAML mapping that is read key by key; `check_all_read` rejects unknown keys."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise RobotError(f"{where or 'file'}: {quote(value)} given, a mapping of keys to values needed")
        self.values, self.label = value, where
        self.used: list[str] = []

    def key(self, name: str) -> str:
        """Full name of a key, for error messages."""
        return f"{self.label}.{name}" if self.label else name

    def read(self, name: str, default: object = MISSING) -> Any:
        """Return the value of a key, of any type."""
        self.used.append(name)
        value = self.values.get(name, default)
        if value is MISSING:
            raise RobotError(f"{self.key(name)}: missing, must be given")
        return value

    def check_all_read(self, why: str = "unknown key") -> None:
        """Raise RobotError, which states why, for keys that were not read."""
        for name in self.values:
            if name not in self.used:
                raise RobotError(f"{self.key(name)}: {why}; the known ones are {', '.join(dict.fromkeys(self.used))}")

    def number(
        self, name: str, default: object = MISSING, *, low: float = -math.inf, above: float = -math.inf
    ) -> float:
        """Return a finite number, at least `low`, more than `above`."""
        value = number(self.read(name, default), self.key(name))
        if value < low or value <= above:
            bound = f">= {low}" if low > -math.inf else f"> {above}"
            raise RobotError(f"{self.key(name)}: {quote(value)} given, a number {bound} needed")
        return value

    def vector(self, name: str, count: int, default: object = MISSING) -> np.ndarray:
        """Return a list of `count` finite numbers, (count,)."""
        value = self.read(name, default)
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise RobotError(f"{self.key(name)}: {quote(value)} given, a list of {count} numbers needed")
        return np.array([number(item, self.key(name)) for item in value])

    def text(self, name: str, default: object = MISSING) -> str:
        """Return a text that is not empty."""
        return Name(free=True).check(self.read(name, default), self.key(name))

    def section(self, name: str, default: object = MISSING) -> Section:
        """Return a mapping within this one."""
        return Section(self.read(name, default), self.key(name))

    def inertia(self) -> np.ndarray:
        """`inertia` as [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz]."""
        value = self.read("inertia")
        if not isinstance(value, list) or len(value) not in (3, 6):
            raise RobotError(
                f"{self.key('inertia')}: {quote(value)} given, [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz] needed"
            )
        return inertia_matrix(*(number(item, self.key("inertia")) for item in (*value, 0.0, 0.0, 0.0)[:6]))


def number(value: object, key: str) -> float:
    """Check that a value is a finite number; RobotError."""
    if isinstance(value, str):  # YAML 1.1 reads 1e-6 (no dot) as a string
        try:
            value = parse_number(value)
        except ValueError:
            raise RobotError(f"{key}: {quote(value)} given, a number needed") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RobotError(f"{key}: {quote(value)} given, a number needed")
    try:
        value = float(value)
    except OverflowError:
        raise RobotError(f"{key}: {quote(value)} given, a number below 1e308 needed") from None
    if not math.isfinite(value):
        raise RobotError(f"{key}: {value} is not finite")
    return value


# ---- checks of the fields of parts -----------------------------------------------------------------------------------


def make_constant(array_like: npt.ArrayLike, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Read-only float array of the given shape, or a RobotError that names the quantity."""
    array = as_array(name, array_like, shape, error=RobotError)
    array.flags.writeable = False
    return array


def check_rotation(matrix: np.ndarray, name: str) -> None:
    """Raise RobotError unless the matrix (3, 3) is a rotation."""
    if not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9) or np.linalg.det(matrix) < 0:
        raise RobotError(f"{name}: {matrix.tolist()} is not a rotation")


def check_inertia(inertia: np.ndarray, name: str) -> None:
    """Raise RobotError for an inertia (3, 3) that no rigid body has: not symmetric, not positive, or moments that
    break the triangle inequality by more than the rounding of a file, in which those of a plate are just equal.
    """
    scale = float(np.max(np.abs(inertia)))
    if not np.allclose(inertia, inertia.T, rtol=0, atol=1e-12 * scale):
        raise RobotError(f"{name}: {inertia.tolist()} is not symmetric")
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] <= 0:
        raise RobotError(f"{name}: principal moments {principal.tolist()} kg m^2, all must be positive")
    if principal[0] + principal[1] < principal[2] * (1 - 1e-5):
        raise RobotError(
            f"{name}: principal moments {principal.tolist()} kg m^2 break the triangle inequality: "
            "the two smaller ones must add up to at least the largest (are the units the same, the digits enough?)"
        )


@dataclass(frozen=True)
class Number:
    """A number of a part: finite, at least 0 (zero=False: above 0; signed: of any sign), at most `most`; None is
    allowed if optional.
    """

    unit: str = ""
    zero: bool = True
    signed: bool = False
    most: float = math.inf
    optional: bool = False

    def check(self, value: Any, name: str) -> float | None:
        """Return the value; RobotError, which names it, if it is not allowed."""
        if value is None and self.optional:
            return None
        finite = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
        if not (finite and (self.signed or value > 0 or (self.zero and value == 0))):
            bound = "" if self.signed else " >= 0" if self.zero else " > 0"
            raise RobotError(f"{name}: {value!r} given, a finite number{bound} [{self.unit}] needed")
        if value > self.most:
            raise RobotError(f"{name}: {value} given, at most {self.most:g} allowed")
        return value


@dataclass(frozen=True)
class Choice:
    """A whole number of a part: one of `allowed`, in words `needed`; None is allowed if optional."""

    allowed: Sequence[int]
    needed: str
    optional: bool = False

    def check(self, value: object, name: str) -> int | None:
        """Return the value; RobotError, which names it, if it is not allowed."""
        if value is None and self.optional:
            return None
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or value not in self.allowed:
            raise RobotError(f"{name}: {value!r} given, {self.needed} needed")
        return int(float(value))


@dataclass(frozen=True)
class Array:
    """A vector (3,) of a part; with a function that raises RobotError for a wrong (array, name): a matrix (3, 3)."""

    function: Callable[[np.ndarray, str], None] | None = None

    def check(self, value: npt.ArrayLike, name: str) -> np.ndarray:
        """Return the value as a read-only array; RobotError, which names it, if it is not allowed."""
        array = make_constant(value, (3,) if self.function is None else (3, 3), name)
        if self.function is not None:
            self.function(array, name)
        return array


@dataclass(frozen=True)
class Name:
    """A name: one word, a text without dots, slashes and spaces that is not empty; free: any text that is not empty."""

    free: bool = False

    def check(self, value: object, name: str) -> str:
        """Return the value; RobotError, which names it, if it is not allowed."""
        if not isinstance(value, str) or not value or not (self.free or re.fullmatch(r"[^\s./]+", value)):
            needed = "a text that is not empty" if self.free else "one word without dots, slashes and spaces"
            raise RobotError(f"{name.removesuffix('.name')}: {quote(value)} given as its name, {needed} needed")
        return value


@dataclass(frozen=True)
class Instance:
    """A part of a part, of the class `kind`; many: a tuple of such."""

    kind: type
    many: bool = False

    def check(self, value: object, name: str) -> object:
        """Return the value, a list as a tuple; RobotError, which names it, if it is not allowed."""
        parts = value if self.many else (value,)
        if not isinstance(parts, (tuple, list)) or not all(isinstance(part, self.kind) for part in parts):
            needed = f"{'a tuple of' if self.many else 'a'} {self.kind.__name__}"
            raise RobotError(f"{name}: {value!r} given, {needed} (hexapod_dynamics.robot) needed")
        return tuple(parts) if self.many else value


Check = Number | Choice | Array | Name | Instance


class Part:
    """A dataclass whose fields are checked at its creation, as their annotations say: `checks`."""

    checks: ClassVar[dict[str, Check]]  # by the names of these fields

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls, include_extras=True)
        cls.checks = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}

    @property
    def label(self) -> str:
        """What messages call the part: "body", "link femur"."""
        return f"{type(self).__name__.lower()} {getattr(self, 'name', '')}".rstrip()

    def __post_init__(self) -> None:
        for name, check in self.checks.items():
            object.__setattr__(self, name, check.check(getattr(self, name), f"{self.label}.{name}"))
