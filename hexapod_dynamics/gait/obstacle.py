"""Response of a blind gait that makes no progress: it lifts its feet higher, then higher still, steps back and
tries again at another angle and with other feet first, and finally stops.

Each attempt ends when the obstacle still sets the robot back, or does so again (`Progress`). A robot that has
stopped does not walk until it is commanded to stand or to walk in another direction.

Whether a blind robot makes progress is detected by the accelerometer alone.

A foot that runs against an obstacle higher than its lift throws the body back in each cycle, as far as the other
legs have pushed it ahead: on average the body does not move. A constant speed cannot be measured, but its changes
can: the difference between the measured acceleration and that of the planned motion, integrated and high-pass
filtered (against errors of the attitude), is the deviation of the speed from the planned one within the cycle.

An obstacle throws the body back in each cycle; blocks that it steps over, and late set-points on a busy computer,
have no such repeated effect. So the deviation along the commanded direction, in units of the commanded speed, is
split into the part that repeats with the cycle (a Fourier series over the phase, averaged over 1.5 cycles) and the
rest. With their mean squares r and s, `setback` is sqrt(r - s), or 0 if the rest is
larger. It is 0 to 0.3 on level ground, 0.6 at most where a body rows up a slope, 1 for a moment at steps of 40 mm,
and 1 to 2, cycle after cycle, where the robot makes no way (docs/results/ground.md). A body that is pushed
steadily against a wall, with slipping feet, is not detected.
"""

from __future__ import annotations

import cmath
import math
from enum import Enum
from typing import NamedTuple

HARMONICS = 5  # terms of the Fourier series
# [m/s] deviations of the speed below this are ignored, because blocks cause as much.
SLOW = 0.05


class Sample(NamedTuple):
    """A tick of dt [s].

    acceleration [m/s^2]: horizontal, mean over dt, along and across the body's heading; planned [m/s]: planned speed of
    the body over its feet now; twist [m/s]: the command as it is followed; period [s]: of the cycle; phase: in the
    cycle, 0 to 1; walks: whether the legs step; slow: whether the command itself is slower than SLOW.
    """

    dt: float
    acceleration: tuple[float, float]
    planned: tuple[float, float]
    twist: tuple[float, float]
    period: float
    phase: float
    walks: bool
    slow: bool = False


class Progress:
    """Detects whether the body is thrown back; speeds [m/s], accelerations [m/s^2] along and across the body's
    heading.

    setback: see above. is_set_back: whether it exceeds the limit now. hindered: whether the robot makes no
    progress.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Discard the history: the gait, its lift or its command has changed."""
        self.setback = 0.0
        self.is_set_back = self.hindered = False
        self._cycles = 0.0  # number of cycles for which it has been set back
        self._x = self._y = self._mean = self._square = 0.0
        self._planned: tuple[float, float] | None = None
        self._series = [0j] * HARMONICS

    def update(self, now: Sample, whole: bool) -> None:
        """Advance by a tick; whole: whether all legs walk. For slow commands the least speed is lower."""
        dt, acceleration, planned, twist, period, phase, walks, slow = now
        speed = math.hypot(*twist)
        if not walks or speed < (0.03 if slow else SLOW) or not math.isfinite(acceleration[0] + acceleration[1]):
            self.restart()
            return
        before, self._planned = self._planned or planned, planned
        keep = 1.0 - dt / 1.5  # [s]
        self._x = keep * self._x + acceleration[0] * dt - (planned[0] - before[0])
        self._y = keep * self._y + acceleration[1] * dt - (planned[1] - before[1])
        along = (self._x * twist[0] + self._y * twist[1]) / (speed * speed)
        share = min(1.0, dt / (1.5 * period))
        self._mean += share * (along - self._mean)
        self._square += share * (along * along - self._square)
        repeated = self._repeated(along - self._mean, phase, share)
        rest = max(0.0, self._square - self._mean * self._mean - repeated)
        self.setback = math.sqrt(max(0.0, repeated - rest))
        # A body that rows on fewer legs up a slope slides back in each cycle.
        held, free = (0.6, 0.4) if whole else (0.8, 0.6)
        self.is_set_back = self.setback > held
        if self.is_set_back:
            self._cycles += dt / period
        elif self.setback < free:  # an obstacle is felt in more than every third cycle
            self._cycles = max(0.0, self._cycles - 0.5 * dt / period)
        self.hindered = self._cycles > (3.0 if slow else 2.0)

    def _repeated(self, deviation: float, phase: float, share: float) -> float:
        """Add a deviation, less its mean, with a weight to the Fourier series; return its mean square."""
        wave, turn = 1.0 + 0j, cmath.rect(1.0, math.tau * phase)
        for k, term in enumerate(self._series):
            wave *= turn
            self._series[k] = term + share * (deviation * wave - term)
        return 2.0 * sum(term.real * term.real + term.imag * term.imag for term in self._series)


class Response(Enum):
    """What a robot does about an obstacle."""

    AS_FELT = "lifts its feet by the measured roughness"
    RAISE = "lifts its feet as on rough ground"
    CLIMB = "lifts its feet onto the obstacle"
    BACK = "steps back, to approach it anew"
    STOP = "stops"


AS_FELT, RAISE, CLIMB, BACK, STOP = Response
BACKS, BACK_SPEED = 2, 0.05  # number of times in a row that it steps back; how fast [m/s]


class ObstacleResponse:
    """Chooses the Response, `does`; turned [rad]: by which the robot has turned on its way back; the gait notes it."""

    def __init__(self) -> None:
        self.progress = Progress()
        self._was_felt = True  # whether the present attempt to climb was fast enough to be detected
        self._stopped = (0.0, 0.0)  # commanded direction in which the robot met the obstacle
        self._back_for = 0.0  # [s] duration of the present step back
        self.change_plan()

    def change_plan(self) -> None:
        """Discard the history, because other legs walk; a robot that has stopped may try again with them."""
        self.progress.restart()
        self.does, self.turned, self._free_for = AS_FELT, 0.0, 0.0  # [s] without an obstacle
        self._unfelt = self.backs = 0  # number of attempts to climb that were not detected; of steps back in a row

    def process_command(self, vx: float, vy: float) -> None:
        """Process a command [m/s]: one to stand, or to walk in another direction than to the obstacle, ends STOP and
        BACK.
        """
        x, y = self._stopped
        size = math.hypot(x, y) * math.hypot(vx, vy)
        if self.does in (BACK, STOP) and (size == 0.0 or x * vx + y * vy < math.cos(math.radians(45.0)) * size):
            self.change_plan()

    @property
    def way_back(self) -> tuple[float, float, float]:
        """Twist [m/s, m/s, rad/s] of a robot that steps back."""
        x, y = self._stopped
        share = -BACK_SPEED / math.hypot(x, y)
        return share * x, share * y, 0.15 if self.backs % 2 else -0.15  # first to its left

    def update(self, now: Sample, *, raised: bool, whole: bool) -> None:
        """Advance by a tick; raised: whether the feet are lifted as on rough ground; whole: whether all legs walk."""
        dt, twist = now.dt, now.twist
        if self.does == STOP:
            return
        if self.does == BACK:
            self._back_for += dt if now.walks else 0.0
            if self._back_for > 1.8:
                self.does, self._free_for, self._was_felt = CLIMB, 0.0, True
            return
        self.progress.update(now, whole)
        if self.progress.hindered:
            if self.does == AS_FELT and not raised:
                self.does = RAISE
            elif self.does != CLIMB and self._unfelt < 3:
                self.does, self._was_felt = CLIMB, True
            else:
                self._stopped, self._back_for = twist, 0.0
                self.does, self.backs = (BACK, self.backs + 1) if self.backs < BACKS else (STOP, self.backs)
            self.progress.restart()
            self._free_for = 0.0
            return
        self._free_for = 0.0 if self.progress.is_set_back else self._free_for + dt
        if self.does == CLIMB:
            self._was_felt &= now.slow or math.hypot(*twist) >= SLOW
        if self._free_for > 30.0:
            self._unfelt = self.backs = 0
        if self._free_for > 10.0 and self.does != AS_FELT:  # the obstacle has been passed
            self._unfelt = self._unfelt + 1 if self.does == CLIMB and not self._was_felt else 0
            self.does, self._free_for = AS_FELT, 0.0
            if self._unfelt == 0:
                self.backs = 0
