"""Reads YAML key by key and checks it: every error names the key, the value and what is allowed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import yaml

from hexapod_dynamics.errors import RobotError

MISSING = object()


class UniqueKeyLoader(yaml.SafeLoader):
    """A YAML loader that rejects a key given twice; PyYAML would silently use the last one."""


def _construct_mapping(loader: Any, node: Any, deep: bool = False) -> Any:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise RobotError(f"line {node.start_mark.line + 1}: key {', '.join(twice)} is given more than once")
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)


class Section:
    """A YAML mapping that is read key by key; `done` rejects unknown keys."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise RobotError(f"{where or 'file'}: {value!r} given, a mapping of keys to values needed")
        self.values, self.where = value, where
        self.asked: list[str] = []

    def key(self, name: str) -> str:
        """Full name of a key, for error messages."""
        return f"{self.where}.{name}" if self.where else name

    def take(self, name: str, default: Any = MISSING) -> Any:
        """The value of a key, any type."""
        self.asked.append(name)
        value = self.values.get(name, default)
        if value is MISSING:
            raise RobotError(f"{self.key(name)}: missing, must be given")
        return value

    def done(self) -> None:
        """Raise RobotError for keys that were not read."""
        for name in self.values:
            if name not in self.asked:
                raise RobotError(f"{self.key(name)}: unknown key; the known ones are {', '.join(self.asked)}")

    def number(self, name: str, default: Any = MISSING, *, low: float = -math.inf, above: float = -math.inf) -> float:
        """A finite number, at least `low`, more than `above`."""
        value = number(self.take(name, default), self.key(name))
        if value < low or value <= above:
            bound = f">= {low}" if low > -math.inf else f"> {above}"
            raise RobotError(f"{self.key(name)}: {value!r} given, a number {bound} needed")
        return value

    def vector(self, name: str, count: int, default: Any = MISSING) -> np.ndarray:
        """A list of `count` finite numbers, (count,)."""
        value = self.take(name, default)
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise RobotError(f"{self.key(name)}: {value!r} given, a list of {count} numbers needed")
        return np.array([number(item, self.key(name)) for item in value])

    def text(self, name: str, default: Any = MISSING) -> str:
        """A text that is not empty."""
        value = self.take(name, default)
        if not isinstance(value, str) or not value:
            raise RobotError(f"{self.key(name)}: {value!r} given, a name needed")
        return value

    def section(self, name: str, default: Any = MISSING) -> Section:
        """A mapping within this one."""
        return Section(self.take(name, default), self.key(name))

    def inertia(self) -> np.ndarray:
        """`inertia` as [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz]."""
        value = self.take("inertia")
        if not isinstance(value, list) or len(value) not in (3, 6):
            raise RobotError(
                f"{self.key('inertia')}: {value!r} given, [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz] needed"
            )
        xx, yy, zz, xy, xz, yz = [number(item, self.key("inertia")) for item in value] + [0.0] * (6 - len(value))
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def number(value: Any, key: str) -> float:
    """Check that a value is a finite number; RobotError."""
    if isinstance(value, str):  # YAML 1.1 takes 1e-6 (no dot) for a string
        try:
            value = float(value)
        except ValueError:
            raise RobotError(f"{key}: {value!r} given, a number needed") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RobotError(f"{key}: {value!r} given, a number needed")
    if not math.isfinite(value):
        raise RobotError(f"{key}: {value!r} is not finite")
    return float(value)


def integer(value: Any, key: str, allowed: range) -> int:
    """Check that a value is a whole number in `allowed`; RobotError."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        raise RobotError(f"{key}: {value!r} given, a whole number {allowed.start}..{allowed.stop - 1} needed")
    return value


def sign(value: Any, key: str) -> int:
    """Check that a value is +1 or -1; RobotError."""
    if isinstance(value, bool) or value not in (-1, 1):
        raise RobotError(f"{key}: {value!r} given, +1 or -1 needed")
    return int(value)
