"""The known name that was probably meant by an unknown one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest of some known names; the first in the alphabet if none resembles `name`, "" without any."""
    names = sorted(known)
    found = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=1, cutoff=0.0)
    return next(each for each in names if each.lower() == found[0]) if found else ""


def suggestion(name: str, known: Iterable[str], *, most: int = 12) -> str:
    """Return the part of an error message that names the nearest of the known names, and all if they are few."""
    names = list(known)
    few = f"; allowed are {', '.join(names)}" if len(names) <= most else ""
    return f"did you mean {nearest(name, names)!r}?{few}" if names else "none is allowed here"
