"""Decides which messages of a page reach the server: only changes of existing controls to allowed values, clicks on
parts that can be clicked, and cameras.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeGuard

# Sent by the script that the page gets (page.js); they do not go on to viser.
ALIVE, DRIVE, STOP, SLOW = "HexapodAlive", "HexapodDrive", "HexapodStop", "HexapodSlow"
ROUNDING = 1e-9  # by which a slider's value may exceed its range


class Range(NamedTuple):
    """The numbers that a page may set a slider to."""

    low: float
    high: float


Control = Range | tuple[object, ...]  # the values that a page may set a control to: of a slider, of another one


class MessageFilter:
    """Checks the decoded messages of a page against what exists on the server.

    kinds: of viser's messages that are allowed, beside those of page.js; each raises TypeError for wrong fields.
    control(client, uuid): the Control that a page may change, or None. is_clickable(client, name): whether a part can
    be clicked.
    """

    def __init__(
        self,
        kinds: Mapping[str, Callable[..., object]],
        control: Callable[[int, str], Control | None],
        is_clickable: Callable[[int, str], bool],
    ) -> None:
        own = dict.fromkeys((ALIVE, STOP, SLOW), lambda: None) | {DRIVE: lambda axes: None}
        self._kinds, self._control, self._is_clickable = {**kinds, **own}, control, is_clickable

    def find_problem(self, client: int, message: object) -> str:
        """Return why a message is dropped: "kind", "fields", "control" or "value"; empty if it is allowed."""
        given = message if isinstance(message, dict) else {}
        kind = given.get("type")
        make = self._kinds.get(kind) if isinstance(kind, str) else None
        if make is None:
            return "kind"
        try:
            make(**{name: value for name, value in given.items() if name != "type"})
        except TypeError:
            return "fields"
        if kind == DRIVE:
            return "value" if read_axes(given) is None else ""
        if kind == "GuiUpdateMessage":
            return self._problem_of_update(client, given["uuid"], given["updates"])
        if not all(is_plain(value) for value in given.values()):
            return "value"
        if kind == "SceneNodeClickMessage":
            name = given["name"]
            return "" if isinstance(name, str) and self._is_clickable(client, name) else "control"
        return ""

    def _problem_of_update(self, client: int, uuid: object, updates: object) -> str:
        control = self._control(client, uuid) if isinstance(uuid, str) else None
        if control is None:
            return "control"
        if not isinstance(updates, dict) or set(updates) != {"value"}:
            return "fields"
        value = updates["value"]
        if isinstance(control, Range):
            low, high = control
            allowed = is_number(value) and low - ROUNDING <= value <= high + ROUNDING
        else:
            allowed = any(type(value) is type(each) and value == each for each in control)
        return "" if allowed else "value"


def read_axes(message: Mapping[str, object]) -> tuple[float, float, float] | None:
    """Return the axes (forward, left, turn) of a DRIVE message, each from -1 to 1; None if the message is malformed."""
    axes = message.get("axes")
    if message.keys() != {"type", "axes"} or not isinstance(axes, list) or len(axes) != 3:
        return None
    if not all(is_number(axis) and abs(axis) <= 1.0 for axis in axes):
        return None
    return float(axes[0]), float(axes[1]), float(axes[2])


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number of at most a million; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= 1e6 and math.isfinite(value)


def is_plain(value: object) -> bool:
    """Whether a value is None, a bool, a finite number, a text of 200 characters or a list of 4 numbers at most."""
    if isinstance(value, str):
        return len(value) <= 200
    if isinstance(value, (list, tuple)):
        return len(value) <= 4 and all(is_number(part) for part in value)
    return value is None or isinstance(value, bool) or is_number(value)
