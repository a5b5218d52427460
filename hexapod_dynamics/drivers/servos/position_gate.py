"""Plausibility check of position readings: the checksum of the bus is a sum of bytes, in which two errors can
cancel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class PositionGate:
    """Decides for each reading [rad] of one servo whether to accept it, to read again, or to drop it.

    margin [rad]: a reading within this distance of the extrapolated position or of the target is accepted at once,
    unless a corrupted answer arrived in the last `wary_time` [s]. Otherwise, two readings in a row that agree within
    `agreement` [rad] are accepted. lowest, highest [rad]: range of the angles that a working servo reports.
    """

    margin: float = 0.2
    wary_time: float = 1.0
    agreement: float = 0.03
    max_rate: float = 8.0  # [rad/s]
    lowest: float = -math.pi
    highest: float = math.pi

    def __post_init__(self) -> None:
        self._last = self._stamp = self._doubted = math.nan
        self._rate = 0.0
        self._wary_until = -math.inf
        self.confirmed = False  # the last accepted reading agreed with the one before it

    def warn(self, t: float) -> None:
        """Report a corrupted answer at time t [s]: the line is noisy."""
        self._wary_until = t + self.wary_time

    def forget(self) -> None:
        """Discard all state, after the servo did not answer."""
        self._last = self._stamp = self._doubted = math.nan
        self._rate = 0.0

    def take(self, angle: float, t: float, target: float = math.nan) -> bool:
        """Return True to accept `angle`, read at time t; False to read again at once: a second reading that agrees is
        accepted.
        """
        if not self.lowest <= angle <= self.highest:
            return False
        margin = self.margin if t >= self._wary_until else -1.0
        interval = t - self._stamp
        expected = self._last + self._rate * interval if interval < 0.5 else math.nan
        # Comparisons with NaN (no earlier reading) are false.
        self.confirmed = abs(angle - self._doubted) <= self.agreement
        if not (self.confirmed or abs(angle - expected) <= margin or abs(angle - target) <= margin):
            self._doubted = angle
            return False
        if 0.0 < interval < 0.5:
            self._rate = max(-self.max_rate, min(self.max_rate, (angle - self._last) / interval))
        else:
            self._rate = 0.0
        self._last, self._stamp, self._doubted = angle, t, math.nan
        return True
