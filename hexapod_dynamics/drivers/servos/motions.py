"""Present set-points of servos that move to a set-point within a duration."""

from __future__ import annotations

import math


class Motions:
    """The present motion of n servos: each moves uniformly; NaN where no set-point is known."""

    def __init__(self, n: int) -> None:
        self._from, self._to = [math.nan] * n, [math.nan] * n  # [rad]
        self._begin, self._took = [0.0] * n, [1.0] * n  # monotonic time, duration [s]

    def forget(self, index: int | None = None) -> None:
        """Note that the set-point of a servo is not known, by default that none is."""
        for each in range(len(self._to)) if index is None else (index,):
            self._from[each] = self._to[each] = math.nan

    def place(self, index: int, now: float, measured: float) -> float:
        """Set-point [rad] of a servo at the monotonic time `now` [s]; `measured` if it is not known."""
        end, begin = self._to[index], self._from[index]
        passed = (now - self._begin[index]) / self._took[index]
        if passed >= 1.0 and not math.isnan(end):
            return end
        if math.isnan(end) or math.isnan(begin):
            return measured
        return begin + (end - begin) * max(passed, 0.0)

    def target(self, index: int) -> float:
        """Where the motion of a servo ends [rad]."""
        return self._to[index]

    def begin(self, index: int, angle: float, duration: float, now: float, measured: float) -> float:
        """Begin a motion to an angle [rad] in a duration [s]; return the way [rad], NaN if its start is not known."""
        here = self.place(index, now, measured)
        self._from[index], self._to[index] = here, angle
        self._begin[index], self._took[index] = now, max(duration, 1e-3)
        return angle - here

    def hold(self, index: int, angle: float) -> None:
        """Stand at an angle [rad]."""
        self._from[index] = self._to[index] = angle
        self._took[index] = 1e-3
