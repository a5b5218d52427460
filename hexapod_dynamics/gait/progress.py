"""Whether a blind robot makes its way, felt by the accelerometer alone.

A foot that runs against an obstacle higher than its lift throws the body back in each cycle, as far as the other legs
have pushed it ahead: on average it stays where it is. A constant speed cannot be felt, but its changes can: the
difference between measured acceleration and that of the planned motion of the body, integrated and freed of what is
slower than MEMORY (errors of the attitude), is by how much the speed differs from the planned one within the cycle.

What throws the body back is met again in each cycle; blocks that it steps over, and set-points that come late on a busy
computer, are not. So the deviation along the commanded direction, in units of the commanded speed, is split into the
part that repeats with the cycle (a Fourier series over the phase, HARMONICS terms, averaged over AVERAGED cycles) and
the rest. With their mean squares r and s, `setback` is sqrt(r - s), or 0 where the rest is larger. It is 0 to 0.3 on
level ground, 0.6 at most where a body rows up a slope, 1 for a moment at steps of 40 mm, and 1 to 2, cycle after cycle,
where the robot makes no way (docs/results/ground.md). A body pushed steadily against a wall, its feet slipping, is not
felt.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

MEMORY = 1.5  # [s]
HARMONICS, AVERAGED = 5, 1.5


@dataclass(frozen=True)
class SetbackLimits:
    """When a robot counts as held by an obstacle.

    set_back: share of its speed that it loses to being thrown back, from which on it is held; free: below which it is
    free again; cycles: for how many gait cycles that has to last.
    """

    set_back: float
    free: float
    cycles: float


# A body that rows on fewer legs up a slope slides back in each cycle.
WHOLE, LEGS_LOST = SetbackLimits(0.6, 0.4, 2.0), SetbackLimits(0.8, 0.6, 2.0)
# [m/s] below which nothing is felt: on blocks a body is thrown about by as much. Where the command itself is slower,
# a body is felt down to SLOWEST, and set back for LONGER times as many cycles.
SLOW, SLOWEST, LONGER = 0.05, 0.03, 1.5


class Progress:
    """Feels whether the body is thrown back; speeds [m/s], accelerations [m/s^2] along and across the body's heading.

    setback: see above. is_set_back: whether it is beyond the limit now. hindered: whether the robot makes no way.
    """

    def __init__(self) -> None:
        self._planned: tuple[float, float] | None = None
        self._cosines, self._sines = [0.0] * HARMONICS, [0.0] * HARMONICS
        self.restart()

    def copy(self) -> Progress:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def restart(self) -> None:
        """Forget the way so far: the gait, its lift or its command has changed."""
        self.setback = 0.0
        self.is_set_back = self.hindered = False
        self._cycles = 0.0  # for which it has been set back
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
        """Let dt [s] pass.

        acceleration: horizontal, mean over dt; planned: speed of the body over its feet now; twist: that of the command
        as it is followed; period [s]: of the cycle; phase: in it, 0 to 1; walks: whether the legs step; slow: whether
        the command itself is slower than SLOW.
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
            self._cycles = 0.0
        self.hindered = self._cycles > limits.cycles * (LONGER if slow else 1.0)

    def _repeated(self, deviation: float, phase: float, share: float) -> float:
        """Take a share of the deviation from its mean, at a phase, into the Fourier series; return its mean square."""
        cosine, sine = math.cos(2.0 * math.pi * phase), math.sin(2.0 * math.pi * phase)
        c, s, square = 1.0, 0.0, 0.0
        cosines, sines = self._cosines, self._sines
        for k in range(HARMONICS):
            c, s = c * cosine - s * sine, s * cosine + c * sine
            cosines[k] += share * (deviation * c - cosines[k])
            sines[k] += share * (deviation * s - sines[k])
            square += cosines[k] * cosines[k] + sines[k] * sines[k]
        return 2.0 * square
