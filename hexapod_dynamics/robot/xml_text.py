"""Texts that are written to XML: names are checked, numbers keep all their digits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hexapod_dynamics.errors import RobotError

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def checked_text(text: str) -> str:
    """Return the text; RobotError if it has a character that XML cannot contain, such as a control character."""
    if NOT_IN_XML.search(text):
        raise RobotError(f"name {text!r}: it has a character that XML cannot have; rename it")
    return text


def as_text(values: Iterable[float]) -> str:
    """Return numbers with all their digits, separated by blanks; -0.0 as 0.0."""
    return " ".join(repr(float(value) + 0.0) for value in values)
