"""Decides which messages of a page reach the server: only changes of existing controls to allowed values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# Sent by the script that the page gets (page_script.py); they do not go on to viser.
ALIVE, DRIVE, STOP, SLOW = "HexapodAlive", "HexapodDrive", "HexapodStop", "HexapodSlow"
LONGEST_TEXT, LONGEST_LIST, LARGEST = 200, 4, 1e6
ROUNDING = 1e-9  # by which a slider's value may exceed its range


@dataclass(frozen=True)
class Control:
    """What a page may set a control to: `kind` "button", "box", "slider" (low to high) or "menu" (options)."""

    kind: str
    low: float = 0.0
    high: float = 0.0
    options: tuple[str, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Whether a page may set this value."""
        if self.kind == "button":
            return value is True
        if self.kind == "box":
            return isinstance(value, bool)
        if self.kind == "menu":
            return isinstance(value, str) and value in self.options
        return is_number(value) and self.low - ROUNDING <= value <= self.high + ROUNDING


@dataclass(frozen=True)
class Fields:
    """The fields of one kind of message: `required` ones, and all that are `allowed`."""

    required: frozenset[str]
    allowed: frozenset[str]


class MessageFilter:
    """Checks the decoded messages of a page against what exists on the server.

    fields: the allowed kinds of message and their fields. control(client, uuid): the Control that a page may
    change, or None. is_clickable(client, name): whether a part of this name can be clicked.
    """

    def __init__(
        self,
        fields: Mapping[str, Fields],
        control: Callable[[int, str], Control | None],
        is_clickable: Callable[[int, str], bool],
    ) -> None:
        self._fields, self._control, self._is_clickable = fields, control, is_clickable

    def problem(self, client: int, message: Any) -> str:
        """Return why a message is dropped: "kind", "fields", "control" or "value"; empty if it is allowed."""
        kind = message.get("type") if isinstance(message, dict) else None
        fields = self._fields.get(kind) if isinstance(kind, str) else None
        if fields is None:
            return "kind"
        names = message.keys() - {"type"}
        if not fields.required <= names <= fields.allowed:
            return "fields"
        if kind == "GuiUpdateMessage":
            return self._problem_of_update(client, message["uuid"], message["updates"])
        if not all(is_plain(value) for value in message.values()):
            return "value"
        if kind == "SceneNodeClickMessage":
            known = isinstance(message["name"], str) and self._is_clickable(client, message["name"])
        else:
            known = True
        return "" if known else "control"

    def _problem_of_update(self, client: int, uuid: Any, updates: Any) -> str:
        control = self._control(client, uuid) if isinstance(uuid, str) else None
        if control is None:
            return "control"
        if not isinstance(updates, dict) or set(updates) != {"value"}:
            return "fields"
        return "" if control.accepts(updates["value"]) else "value"


def read_axes(message: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """Return the axes (forward, left, turn) of a DRIVE message, each from -1 to 1; None if the message is malformed."""
    axes = message.get("axes")
    if message.keys() != {"type", "axes"} or not isinstance(axes, list) or len(axes) != 3:
        return None
    if not all(is_number(axis) and abs(axis) <= 1.0 for axis in axes):
        return None
    return float(axes[0]), float(axes[1]), float(axes[2])


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= LARGEST and math.isfinite(value)


def is_plain(value: Any) -> bool:
    """Whether a value is None, a bool, a finite number, a short text or a short list of numbers."""
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    if isinstance(value, (list, tuple)):
        return len(value) <= LONGEST_LIST and all(is_number(part) for part in value)
    return value is None or isinstance(value, bool) or is_number(value)
