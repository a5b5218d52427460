"""Detects whether a blind robot makes progress, by the accelerometer alone.

A foot that runs against an obstacle higher than its lift throws the body back in each cycle, as far as the other
legs have pushed it ahead: on average the body does not move. A constant speed cannot be measured, but its changes
can: the difference between the measured acceleration and that of the planned motion, integrated and high-pass
filtered with MEMORY (against errors of the attitude), is the deviation of the speed from the planned one within
the cycle.

An obstacle throws the body back in each cycle; blocks that it steps over, and late set-points on a busy computer,
have no such repeated effect. So the deviation along the commanded direction, in units of the commanded speed, is
split into the part that repeats with the cycle (a Fourier series over the phase, HARMONICS terms, averaged over
AVERAGED cycles) and the rest. With their mean squares r and s, `setback` is sqrt(r - s), or 0 if the rest is
larger. It is 0 to 0.3 on level ground, 0.6 at most where a body rows up a slope, 1 for a moment at steps of 40 mm,
and 1 to 2, cycle after cycle, where the robot makes no way (docs/results/ground.md). A body that is pushed
steadily against a wall, with slipping feet, is not detected.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

MEMORY = 1.5  # [s]
FORGETS = 0.5  # cycles of being set back that a cycle without it cancels: an obstacle is felt in more than every third
HARMONICS, AVERAGED = 5, 1.5


@dataclass(frozen=True)
class SetbackLimits:
    """Limits from which a robot counts as held by an obstacle.

    set_back: value of `setback` above which the robot is held; free: value below which it is free again; cycles:
    number of gait cycles for which it must be held.
    """

    set_back: float
    free: float
    cycles: float


# A body that rows on fewer legs up a slope slides back in each cycle.
WHOLE, LEGS_LOST = SetbackLimits(0.6, 0.4, 2.0), SetbackLimits(0.8, 0.6, 2.0)
# [m/s] deviations of the speed below this are ignored, because blocks cause as much. For commands that are slower than
# this, the limit is lower, at least SLOWEST, and the setback must last LONGER times as many cycles.
SLOW, SLOWEST, LONGER = 0.05, 0.03, 1.5


class Progress:
    """Detects whether the body is thrown back; speeds [m/s], accelerations [m/s^2] along and across the body's
    heading.

    setback: see above. is_set_back: whether it exceeds the limit now. hindered: whether the robot makes no
    progress.
    """

    def __init__(self) -> None:
        self._planned: tuple[float, float] | None = None
        self._cosines, self._sines = [0.0] * HARMONICS, [0.0] * HARMONICS
        self.restart()

    def copy(self) -> Progress:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def restart(self) -> None:
        """Discard the history: the gait, its lift or its command has changed."""
        self.setback = 0.0
        self.is_set_back = self.hindered = False
        self._cycles = 0.0  # number of cycles for which it has been set back
        self._x = self._y = self._mean = self._square = 0.0
        self._planned = None
        for k in range(HARMONICS):
            self._cosines[k] = self._sines[k] = 0.0

    def update(
        self,
        dt: float,
        acceleration: tuple[float, float],
        planned: tuple[float, float],
        twist: tuple[float, float],
        period: float,
        phase: float,
        walks: bool,
        limits: SetbackLimits = WHOLE,
        slow: bool = False,
    ) -> None:
        """Advance by dt [s].

        acceleration: horizontal, mean over dt; planned: planned speed of the body over its feet now; twist: the
        command as it is followed; period [s]: of the cycle; phase: in the cycle, 0 to 1; walks: whether the legs
        step; slow: whether the command itself is slower than SLOW.
        """
        speed = math.hypot(*twist)
        if not walks or speed < (SLOWEST if slow else SLOW) or not math.isfinite(acceleration[0] + acceleration[1]):
            self.restart()
            return
        before, self._planned = self._planned or planned, planned
        keep = 1.0 - dt / MEMORY
        self._x = keep * self._x + acceleration[0] * dt - (planned[0] - before[0])
        self._y = keep * self._y + acceleration[1] * dt - (planned[1] - before[1])
        along = (self._x * twist[0] + self._y * twist[1]) / (speed * speed)
        share = min(1.0, dt / (AVERAGED * period))
        self._mean += share * (along - self._mean)
        self._square += share * (along * along - self._square)
        repeated = self._repeated(along - self._mean, phase, share)
        rest = max(0.0, self._square - self._mean * self._mean - repeated)
        self.setback = math.sqrt(max(0.0, repeated - rest))
        self.is_set_back = self.setback > limits.set_back
        if self.is_set_back:
            self._cycles += dt / period
        elif self.setback < limits.free:
            self._cycles = max(0.0, self._cycles - FORGETS * dt / period)
        self.hindered = self._cycles > limits.cycles * (LONGER if slow else 1.0)

    def _repeated(self, deviation: float, phase: float, share: float) -> float:
        """Add the deviation at a phase, less its mean, with a weight to the Fourier series; return the mean square
        of the series.
        """
        cosine, sine = math.cos(2.0 * math.pi * phase), math.sin(2.0 * math.pi * phase)
        c, s, square = 1.0, 0.0, 0.0
        cosines, sines = self._cosines, self._sines
        for k in range(HARMONICS):
            c, s = c * cosine - s * sine, s * cosine + c * sine
            cosines[k] += share * (deviation * c - cosines[k])
            sines[k] += share * (deviation * s - sines[k])
            square += cosines[k] * cosines[k] + sines[k] * sines[k]
        return 2.0 * square
