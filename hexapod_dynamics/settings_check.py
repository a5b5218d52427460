"""Checks that several classes of settings share."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hexapod_dynamics.errors import HexapodError


def require_positive(values: Mapping[str, object], error: type[HexapodError] = HexapodError) -> None:
    """Raise `error` for the first of some named numbers, or tuples of numbers, that is not a finite number above
    0.
    """
    for name, value in values.items():
        for number in value if isinstance(value, tuple) else (value,):
            if not (math.isfinite(number) and number > 0):
                raise error(f"{name}: given {value!r}, a finite number above 0 is needed")
