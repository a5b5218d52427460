"""Determines whether commands and readings arrive in time to be compared with the model; on a loaded computer they
do not.
"""

from __future__ import annotations

import math

from hexapod_dynamics.detection.lateness import Lateness
from hexapod_dynamics.detection.limits import DetectorLimits


class Disturbance:
    """disturbed: whether data are late now, so that sag, tilt and single servos are not evaluated. All times are
    seconds on one clock.
    """

    def __init__(self, limits: DetectorLimits) -> None:
        self._limits = limits
        self.lateness = Lateness(limits)
        self.disturbed, self._until = False, -math.inf
        self._seldom_read = -math.inf  # time at which a polling round took long

    def ignore(self, time: float) -> None:
        """Evaluate only silent servos for some seconds from the next `check` on."""
        self._until = time + self._limits.disturbed_for

    def begin(self, time: float) -> None:
        """Evaluate only silent servos for some seconds from now on."""
        self.ignore(time)
        self.disturbed = True

    def busy(self, time: float) -> bool:
        """Return whether the computer is so busy that damage has to last before it is declared."""
        return self.lateness.often(time) or time - self._seldom_read < self._limits.seldom_for

    def check(self, time: float, pace: float, late_at: float) -> bool:
        """Determine whether data are late now; return whether the bus is too slow to evaluate silent servos.

        pace [s]: of a polling round; late_at [s]: time at which a command came too late.
        """
        limits = self._limits
        slow = pace > limits.slow_bus
        if pace > limits.late_round:  # a joint would have only a few, late readings
            self._seldom_read = time
        if slow:
            self.ignore(time)
        self.disturbed = time < max(self._until, late_at + limits.disturbed_for)
        return slow
