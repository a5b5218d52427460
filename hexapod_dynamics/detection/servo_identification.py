"""Identifies lag and dead zone of a healthy robot's servos beyond those of the model, from its first readings.

With r = measured less modelled angle, w = modelled rate, e = set-point less modelled angle of a joint j,

    r = -tau w - b s + a e + o_j,    s = e / sqrt(e^2 + load_sign^2)

tau [s]: lag, b [rad]: half of the dead zone, a: relative softness, common to all joints; o_j [rad]: trim of a joint.
Weighted least squares with priors; a reading has the variance reading_spread^2 + (reading_timing w)^2, and r is
limited to reading_clip. The
lag absorbs a part of the play, and the zone comes out too small; a model with both is nevertheless more accurate
than one without.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits

_LAG, _ZONE, _TRIMS = 0, 1, 3


def sign_of_load(lead: np.ndarray, soft: float = LIMITS.load_sign) -> np.ndarray:
    """Return s of set-points less angles (...) [rad]: their sign, smooth over `soft` [rad]."""
    return lead / np.sqrt(lead**2 + soft**2)


class ServoIdentification:
    """Sums of the normal equations over readings of n joints; count: of readings."""

    def __init__(self, joints: int, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        spread = limits.servo_lag, limits.servo_zone, limits.servo_softness, *[limits.servo_trim] * joints
        self._prior = np.array(spread) ** -2.0
        self.restart()

    def restart(self) -> None:
        """Forget all readings."""
        self._information, self._sums = np.diag(self._prior), np.zeros(len(self._prior))
        self.count = 0

    def measure(self, joint: np.ndarray, residual: np.ndarray, rate: np.ndarray, lead: np.ndarray) -> None:
        """Add m readings: joints (m,) by index, r (m,) [rad], w (m,) [rad/s], e (m,) [rad]."""
        limits = self._limits
        rows = np.zeros((len(joint), len(self._prior)))
        rows[:, :3] = np.stack([-rate, -sign_of_load(lead, limits.load_sign), lead], axis=1)
        rows[np.arange(len(joint)), _TRIMS + joint] = 1.0
        weighted = rows / (limits.reading_spread**2 + (limits.reading_timing * rate) ** 2)[:, None]
        self._information += weighted.T @ rows
        self._sums += weighted.T @ np.clip(residual, -limits.reading_clip, limits.reading_clip)
        self.count += len(joint)

    def identify_servo_lag(self) -> tuple[float, float]:
        """Return the lag tau [s] and half of the dead zone b [rad]."""
        solution = np.linalg.solve(self._information, self._sums)
        return float(solution[_LAG]), float(solution[_ZONE])
