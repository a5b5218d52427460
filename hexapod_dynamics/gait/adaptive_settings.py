"""Settings of the adaptive gait, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from hexapod_dynamics.errors import HexapodError

PATTERNS = ("auto", "wave", "ripple")
# A body tilted further [rad] sits down.
TILT_LIMIT = math.radians(8.0)
# Allowed values: lowest, highest, unit.
RANGES = {
    "step_height": (0.0, 0.06, "m"),
    "body_height": (0.03, 0.3, "m"),
    "period": (0.3, 10.0, "s"),
    "acceleration": (0.01, 10.0, "m/s^2"),
    "turning": (0.05, 50.0, "rad/s^2"),
    "tilt_limit": (0.0, 1.0, "rad"),
}
OPTIONAL = ("body_height", "period")


@dataclass(frozen=True)
class AdaptiveSettings:
    """Settings of `AdaptiveGait`, described there; HexapodError names a value out of its range.

    body_height and period are None where the plan decides.
    """

    step_height: float
    body_height: float | None
    period: float | None
    acceleration: float
    turning: float
    yaw_hold: bool
    tilt_limit: float
    pattern: str

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in RANGES and not (value is None and field.name in OPTIONAL):
                _check(field.name, value, *RANGES[field.name])
        if self.pattern not in PATTERNS:
            raise HexapodError(f"pattern: given {self.pattern!r}, allowed are {', '.join(PATTERNS)}")


def _check(name: str, value: object, low: float, high: float, unit: str) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and low <= value <= high):
        raise HexapodError(f"{name}: given {value!r}, allowed are {low} to {high} {unit}")
