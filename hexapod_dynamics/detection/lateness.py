"""Detects late commands and readings: on a loaded computer they are no evidence.

Late measurements would be compared with the wrong state of the model, and joints that stand still because their
commands are delayed would look locked. There are three signs, and each of them is sufficient:

- a message is processed long after its stamp, or the caller was not called for long;
- readings stop for a while, all of them;
- all joints are behind the model by the same time: readings are stamped late, or servos and simulation
  execute their commands late. With r the residuals and v the modelled rates, the lag is the median of -r / v, which one
  or two damaged joints do not move.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class Lateness:
    """Stores when commands or readings were late; all times are seconds on one clock. why: the last sign, in
    words.

    Call `command` and `readings` for arriving data, then `look` once in each update.
    """

    def __init__(self, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        self.why = ""
        self._last_late = self._updated = self._last_reading = -math.inf
        self._command, self._reading = math.inf, math.inf  # oldest stamps since the last update
        self._gap = 0.0
        self._usual = 0.0  # lag [s] of these servos
        # times of the last signs, at least `busy_apart` apart
        self._signs: deque[float] = deque(maxlen=limits.busy_signs)

    def command(self, time: float) -> None:
        """Note a command with its time."""
        self._command = min(self._command, time)

    def reading(self, time: float) -> None:
        """Note a reading with its time."""
        self._reading = min(self._reading, time)
        if math.isfinite(self._last_reading):
            self._gap = max(self._gap, time - self._last_reading)
        self._last_reading = max(self._last_reading, time)

    def look(self, time: float) -> bool:
        """Return True if commands or readings since the last update were late."""
        stood = time - self._updated if math.isfinite(self._updated) else 0.0
        limits = self._limits
        signs = (
            (time - self._reading, limits.late_reading, "a reading came {:.2f} s after it was taken"),
            (time - self._command, limits.late_command, "a command came {:.2f} s after it was sent"),
            (
                stood,
                limits.late_update,
                "the detector stood still for {:.2f} s",
            ),
            (self._gap, limits.late_gap, "no joint was read for {:.2f} s"),
        )
        self._updated, self._gap = time, 0.0
        self._command = self._reading = math.inf
        late = [words.format(age) for age, limit, words in signs if age > limit]
        for words in late[:1]:
            self._note(time, words)
        return bool(late)

    def lags(self, time: float, lag: float) -> bool:
        """Return whether all joints are behind the model by a lag [s] (NaN: not known) that is too long."""
        if math.isnan(lag):
            return False
        beyond = lag - self._usual
        limits = self._limits
        self._usual = min(max(self._usual + limits.late_usual_gain * beyond, 0.0), limits.late_most_usual)
        if beyond <= limits.late_lag:
            return False
        self._note(time, f"all joints are {lag:.2f} s behind their commands")
        return True

    def _note(self, time: float, why: str) -> None:
        self._last_late, self.why = time, why
        if not self._signs or time - self._signs[-1] > self._limits.busy_apart:
            self._signs.append(time)

    def often(self, time: float) -> bool:
        """Return True if commands or readings have been late several times in the last seconds."""
        limits = self._limits
        return len(self._signs) == limits.busy_signs and time - self._signs[0] < limits.busy_within

    def recent(self, time: float) -> bool:
        """Return True if commands or readings were late recently."""
        return time - self._last_late < self._limits.late_for


def common_lag(joints: np.ndarray, residuals: np.ndarray, rates: np.ndarray, limits: DetectorLimits = LIMITS) -> float:
    """Return by how much [s] all joints are behind the model, NaN if too few move: joints (m,), their residuals
    [rad] and modelled rates [rad/s] at the times of m readings.
    """
    moving = np.abs(rates) > limits.lag_rate
    if moving.sum() < limits.lag_readings or len(np.unique(joints[moving])) < limits.lag_joints:
        return math.nan
    return float(np.median(-residuals[moving] / rates[moving]))
