"""Determines whether commands and readings arrive in time to be compared with the model.

On a loaded computer they do not: late measurements would be compared with the wrong state of the model, and joints that
stand still because their commands are delayed would look locked. There are four signs, and each of them is sufficient:
a message is processed long after its stamp; the caller was not called for long; all readings stop for a while; all
joints are behind the model by the same time, because readings are stamped late, or servos execute their commands late.
"""

from __future__ import annotations

import math

import numpy as np

LATE = 0.15  # [s] age of a reading or command from which it is late; the same between two commands
PAUSE = 0.25  # [s] without a call of the detector, or without any reading: the computer stood still
LAG = 0.06  # [s] of all joints behind the model, beyond what is learnt of these servos; slow ones have up to 0.04
IGNORED_FOR = 2.5  # [s] after a sign in which only silence is evidence


class Timing:
    """Stores when commands or readings were late; times are seconds on one clock.

    disturbed: whether data are late now, so that only the bus is evaluated; why: the last sign, in words.
    """

    def __init__(self) -> None:
        self.disturbed, self.why = False, ""
        self._last_late = self._updated = self._last_reading = self._until = -math.inf
        self._command = self._reading = math.inf  # oldest stamps since the last update
        self._gap = 0.0  # [s] longest pause of the readings

    def command(self, time: float) -> None:
        """Note a command with its time."""
        self._command = min(self._command, time)

    def add_reading(self, time: float) -> None:
        """Note a reading with its time."""
        self._reading = min(self._reading, time)
        if math.isfinite(self._last_reading):
            self._gap = max(self._gap, time - self._last_reading)
        self._last_reading = max(self._last_reading, time)

    def update(self, time: float) -> bool:
        """Return True if commands or readings since the last update were late."""
        stood = time - self._updated if math.isfinite(self._updated) else 0.0
        signs = (
            (time - self._reading, LATE, "a reading came {:.2f} s after it was taken"),
            (time - self._command, LATE, "a command came {:.2f} s after it was sent"),
            (stood, PAUSE, "the detector stood still for {:.2f} s"),
            (self._gap, PAUSE, "no joint was read for {:.2f} s"),
        )
        self._updated, self._gap = time, 0.0
        self._command = self._reading = math.inf
        late = [words.format(age) for age, limit, words in signs if age > limit]
        if late:
            self._last_late, self.why = time, late[0]
            self.ignore(time)
        return bool(late)

    def check_lag(self, time: float, lag: float) -> bool:
        """Return whether all joints are behind the model by a lag [s] (NaN: not known) that is too long."""
        if not lag > LAG:
            return False
        self._last_late, self.why = time, f"all joints are {lag:.2f} s behind their commands"
        self.ignore(time)
        return True

    def check_bus(self, time: float, pace: float, late_command: float) -> bool:
        """Determine whether data are late now; return whether the bus is too slow to evaluate silent servos.

        pace [s]: of a polling round; late_command [s]: time at which a command came too late.
        """
        slow = pace > 0.45  # [s]: silence is no evidence, either
        if slow:
            self.ignore(time)
        self.disturbed = time < max(self._until, late_command + IGNORED_FOR)
        return slow

    def ignore(self, time: float) -> None:
        """Evaluate only silent servos for some seconds from now on."""
        self._until = time + IGNORED_FOR
        self.disturbed = True

    def was_late_recently(self, time: float) -> bool:
        """Return True if commands or readings were late a moment ago, and more may be."""
        return time - self._last_late < 0.3  # [s] without a sign, after which the model starts again


def find_lag(joints: np.ndarray, residuals: np.ndarray, rates: np.ndarray) -> float:
    """Return by how much [s] all joints are behind the model, NaN if too few move: joints (m,), their residuals
    [rad] and modelled rates [rad/s] at the times of m readings.

    It is the median of -residual / rate, which one or two damaged joints do not move.
    """
    moving = np.abs(rates) > 0.4  # [rad/s]: slower ones show the dead zone, fewer than eight readings their noise
    if moving.sum() < 8 or len(np.unique(joints[moving])) < 6:
        return math.nan
    return float(np.median(-residuals[moving] / rates[moving]))
