"""Settings of the adaptive gait, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait_kinds import ADAPTIVE, BOUNDS

# A body that is tilted further [rad], for longer than the transient of a step, sits down.
TILT_LIMIT = math.radians(8.0)
OPTIONAL = ("body_height", "period")
# Settings that can change while the robot walks.
LIVE = ("step_height", "body_height", "period", "yaw_hold", "acceleration", "turning", "weighing_sway")
# How far the body may be moved over its feet: x, y, z [m], roll, pitch, yaw [rad].
MOST_LEAN = np.array([0.04, 0.04, 0.04, 0.25, 0.25, 0.35])


@dataclass(frozen=True)
class AdaptiveSettings:
    """Settings of `AdaptiveGait`, described there; HexapodError names a value out of its range.

    body_height and period are None if the plan decides.
    """

    step_height: float
    body_height: float | None
    period: float | None
    acceleration: float
    turning: float
    yaw_hold: bool
    tilt_limit: float
    pattern: str
    weighing_sway: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in BOUNDS and not (value is None and field.name in OPTIONAL):
                _check(field.name, value, *BOUNDS[field.name])
        if self.pattern not in ADAPTIVE:
            raise HexapodError(f"pattern: given {self.pattern!r}, allowed are {', '.join(ADAPTIVE)}")


def _check(name: str, value: object, low: float, high: float, unit: str) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and low <= value <= high):
        raise HexapodError(f"{name}: given {value!r}, allowed are {low} to {high} {unit}")


def checked_lean(offset: npt.ArrayLike) -> np.ndarray:
    """Return an offset of the body over its feet as (6,) x, y, z [m], roll, pitch, yaw [rad].

    Raises HexapodError unless these are six finite numbers of at most MOST_LEAN.
    """
    offset = np.asarray(offset, float)
    if offset.shape != (6,) or not np.isfinite(offset).all():
        raise HexapodError(f"body pose {offset.tolist()}: six finite numbers (x, y, z, roll, pitch, yaw) needed")
    if (np.abs(offset) > MOST_LEAN).any():
        raise HexapodError(f"body pose {offset.tolist()}: allowed are +-{MOST_LEAN.tolist()} [m, rad]")
    return offset
