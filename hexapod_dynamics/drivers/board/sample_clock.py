"""Times of samples that a device takes at a constant but unknown rate, from their arrivals over USB.

A USB adapter delivers in pieces: a sample arrives with a delay that is never negative and that varies from sample
to sample by milliseconds. The true times lie on the lower envelope of the arrivals: a line with the device's
period. A loop of second order follows it: in each block of arrivals, the least delayed arrival corrects line and
period.
"""

from __future__ import annotations

import math

_FIRST = 64  # samples whose mean period begins the loop
_BLOCK = 16  # samples of which the least delayed one corrects the line
_PHASE, _PERIOD = 0.3, 0.05  # shares of a block's error that move the line, and that change its slope over a block
_LOST = 0.6  # share of a period; if a whole block is later than this, samples were lost
_RESTART = 0.5  # [s] without a sample, after which everything begins anew


class SampleClock:
    """Estimates for each arrival [monotonic s] the time at which its sample left the device, plus the shortest
    delay.

    No time is later than its arrival, and times never decrease.
    """

    def __init__(self) -> None:
        self.lost = 0  # samples that seem to be lost
        self._last_arrival = self._last_stamp = -math.inf
        self._restart(math.nan)

    def _restart(self, arrival: float) -> None:
        self.period = math.nan  # [s], NaN until the loop runs
        self._begin, self._count = arrival, 0
        self._line = math.nan
        self._earliest, self._in_block = math.inf, 0  # least delay of the block [s], relative to the line

    @property
    def rate(self) -> float:
        """Samples a second, NaN before it is known."""
        return 1.0 / self.period if self.period > 0.0 else math.nan

    def stamp(self, arrival: float, noisy: bool = False) -> float:
        """Return the time of the sample that has come at `arrival` [s]; noisy: bytes before it were damaged."""
        if arrival - self._last_arrival > _RESTART:
            self._restart(arrival)
        self._last_arrival = arrival
        stamp = arrival if math.isnan(self.period) else min(self._follow(arrival, noisy), arrival)
        if math.isnan(self.period):
            self._count += 1
            if self._count > _FIRST:
                self.period, self._line = (arrival - self._begin) / (self._count - 1), arrival
        self._last_stamp = max(stamp, self._last_stamp)
        return self._last_stamp

    def _follow(self, arrival: float, noisy: bool) -> float:
        """Return the line's time for the next sample, and correct the line at the end of a block."""
        self._line += self.period
        if noisy and arrival - self._line > _LOST * self.period:
            self._pass_over(arrival - self._line)
        stamp = self._line
        self._earliest = min(self._earliest, arrival - self._line)
        self._in_block += 1
        if self._in_block == _BLOCK:
            if self._earliest > _LOST * self.period:
                self._pass_over(self._earliest)
            else:
                self._line += _PHASE * self._earliest
                self.period += _PERIOD * self._earliest / _BLOCK
            self._earliest, self._in_block = math.inf, 0
        return stamp

    def _pass_over(self, late: float) -> None:
        """Move the line by the samples that are missing in this time [s]."""
        missed = max(1, round(late / self.period))
        self._line += missed * self.period
        self.lost += missed
