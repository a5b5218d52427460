"""What a blind gait feels of the ground, its roughness, its slope and obstacles, and how it responds."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, TypeVar

Vector = TypeVar("Vector", float, complex)
BINS = 16
# Roughness [rad] of smooth ground, and from which on it is rough; for how long [s] it is smooth until it counts so.
CALM, ROUGH, LASTING = math.radians(1.2), math.radians(2.0), 12.0
RAISING, LOWERING = 0.6, 3.0  # [s] duration of the whole change of lift
DEAD_ZONE = math.radians(4.0)
MAX_SLOPE = math.radians(25.0)
HARMONICS = 5  # terms of the Fourier series
# [m/s] deviations of the speed below this are ignored, because blocks cause as much.
SLOW = 0.05


def limit_length(vector: Vector, most: float) -> Vector:
    """Return a number, or a vector x + i y, of the same direction, at most `most` long."""
    size = abs(vector)
    return vector if size <= most or size == 0.0 else max(0.0, most) / size * vector


class GroundAdaptation:
    """Estimates the ground from the IMU; all angles [rad], lengths [m]. Rough and sloping ground change the lift of the
    feet, the position of the body and the allowed tilt. Tilts of the body are complex numbers, pitch + i roll.

    Roughness is measured by motion that does not repeat: on smooth ground the body rocks in each cycle as in the
    previous one, with any servos and any gait. The attitude against the slope, and the heading less the commanded one
    (which changes when a foot runs against an edge), are compared with those at the same phase of the previous cycle,
    in BINS bins; the root mean square of the differences over the last cycle is the measured roughness. Cycles of
    another twist are no repetition: after the twist has changed, the comparisons begin again with the second cycle. On
    rough ground the feet are lifted higher, until it has been smooth for LASTING. The first cycle of a rowing body is
    not used for comparisons, nor is that after a change of plan: the robot starts from another pose and turns back to
    its heading.

    On a slope, and on a body that is tilted by an obstacle, gravity shifts the centre of mass downhill in the polygon
    of the feet by its height times the tangent of the tilt; the body is moved uphill by the same distance, as far as
    the legs reach. A tilt below DEAD_ZONE is ignored, because it may be an error of the IMU's mounting. From twice
    DEAD_ZONE on, the shift is complete.

    rough: whether the feet are to be lifted higher. share: share of the additional lift that is reached, 0 to 1.
    leeway: share of the additional tilt of rough ground that is allowed, 0 to 1. shift: x + i y of the body in
    base_link. roughness: of the last cycle. walked_for [s]: time without a stop. Attributes that the gait sets:
    height of the centre of mass over the feet; most_shift: largest shift within the reach of the legs; settles:
    whether the first cycle of the gait differs from the later ones.
    """

    __slots__ = (
        "rough share leeway roughness most_shift shift height walked_for settles _calm_for _rough_for _tilt _before "
        "_squares _bin _known _twist _changed"
    ).split()

    def __init__(self) -> None:
        self.rough = False
        self.share = self.leeway = self.roughness = self.most_shift = 0.0
        self.shift, self.height = 0j, 0.0
        self.walked_for = self._calm_for = self._rough_for = 0.0  # [s]
        self._tilt = 0j  # smoothed
        self._before, self._squares = [(0.0, 0.0, 0.0)] * BINS, [0.0] * BINS
        self._bin, self._known, self.settles = -1, 0, False
        self._twist = [0.0, 0.0, 0.0]  # of the cycles that are compared
        self._changed = False  # whether no two cycles of the present plan have been compared yet

    def change_plan(self) -> None:
        """Discard the previous cycle, because the gait changes.

        If the ground has been rough for less than 4 s, within which a lost leg is detected, that was the cause.
        """
        self._changed = True
        self.compare_anew()
        self._squares[:] = [0.0] * BINS
        if self.rough and self._rough_for < 4.0:
            self.rough, self.leeway, self.roughness = False, 0.0, 0.0

    def update(
        self,
        dt: float,
        phase: float,
        tilt: complex,
        slope: complex,
        heading: float,
        walks: bool,
        tilted: bool,
        twist: Sequence[float],
    ) -> None:
        """Let dt [s] pass.

        phase: of the cycle; tilt: of the body against gravity; slope: of a body that stands on the slope; heading: less
        the commanded one, 0 if the heading is not controlled; walks: whether the legs step; tilted: whether the body is
        beyond the tilt limit of smooth ground, perhaps because it has lost a leg; then the limit is not increased;
        twist: that the feet follow.
        """
        if not cmath.isfinite(tilt + heading):
            return
        self._shift(dt, tilt)
        if not walks:
            self.walked_for = 0.0
            self.compare_anew(self.settles or self._changed)
            return
        self.walked_for += dt
        (vx, vy, wz), (x, y, turn) = twist, self._twist
        if abs(vx - x) > 0.01 or abs(vy - y) > 0.01 or abs(wz - turn) > 0.05:  # [m/s, m/s, rad/s]
            self._twist[:] = twist
            self.compare_anew()
        against = tilt - slope
        self._compare_attitude(int(phase * BINS) % BINS, (against.imag, against.real, heading))
        limit = CALM if self.rough else ROUGH
        self.rough = self.roughness > limit or (self.rough and self._calm_for < LASTING)
        self._calm_for = 0.0 if self.roughness > CALM else self._calm_for + dt
        self._rough_for = self._rough_for + dt if self.rough else 0.0
        change = dt / RAISING if self.rough else -dt / LOWERING
        self.share = min(1.0, max(0.0, self.share + change))
        if not (self.rough and tilted):
            self.leeway = min(1.0, max(0.0, self.leeway + change))

    def compare_anew(self, differs: bool = True) -> None:
        """Discard the previous cycle; differs: the next one, too, because the body moves otherwise in it."""
        self._bin, self._known = -1, -BINS if differs else 0

    def assume_rough(self) -> None:
        """Assume that the ground is rough: the robot tipped, sat down, and goes on with the same legs."""
        self.rough, self.share, self.leeway, self._calm_for = True, 1.0, 1.0, 0.0

    def _compare_attitude(self, now: int, attitude: tuple[float, float, float]) -> None:
        """When the phase enters a bin, compare the attitude with that of the previous cycle."""
        if now == self._bin:
            return
        self._bin = now
        if self._known >= BINS:
            self._changed = False
            self._squares[now] = math.dist(attitude, self._before[now]) ** 2
            self.roughness = math.sqrt(sum(self._squares) / BINS)
        self._known += 1
        self._before[now] = attitude

    def _shift(self, dt: float, tilt: complex) -> None:
        """Let the shift follow the value that the tilt of the body demands."""
        turn = math.tau * dt  # smoothed at 1 Hz
        self._tilt += (tilt - self._tilt) * turn / (1.0 + turn)
        beyond = min(1.0, max(0.0, abs(self._tilt) / DEAD_ZONE - 1.0))
        wanted = complex(-math.tan(self._tilt.real), math.tan(self._tilt.imag)) * beyond * self.height
        self.shift += (limit_length(wanted, self.most_shift) - self.shift) * dt * 1.5  # [1/s]


class SlopeReference:
    """Learns the slope under a walking robot, the reference of the tilt reflex; all angles [rad].

    The slope, the tilt (pitch + i roll) of a robot that stands on it with the yaw 0, follows the measured tilt, but not
    fast: a robot that walks onto a slope of 10 degrees turns by 3 degrees a second, a falling robot turns faster. The
    slope is never steeper than MAX_SLOPE, so that a robot that lies on its side does not count as level. While the
    robot sits tilted, the slope changes only after some seconds, because the robot may be falling over.

    measured: the tilt of the body, less its commanded lean.
    """

    __slots__ = ("slope", "measured", "_heading", "_sat")

    def __init__(self) -> None:
        self.slope = self.measured = 0j
        self._heading = 1.0 + 0j  # unit vector of the yaw
        self._sat = 0.0  # [s] for which the robot has sat

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Process the attitude of the body, less its commanded lean."""
        self.measured, self._heading = complex(pitch, roll), cmath.rect(1.0, yaw)

    @property
    def tilt(self) -> float:
        """Tilt of the body against the slope."""
        return abs(self.measured - self.standing)

    @property
    def ground_normal(self) -> tuple[float, float, float]:
        """Upward direction (3,), in base_link axes, of a body that stands on the slope with the present heading."""
        pitch, roll = self.standing.real, self.standing.imag
        return -math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)

    @property
    def standing(self) -> complex:
        """Tilt of a body that stands on the slope with the present heading."""
        return self.slope * self._heading

    def learn(self, dt: float, sits: bool) -> None:
        """Follow the attitude, dt [s] after the last call; sits: whether the robot sits, so no foot has to stand."""
        self._sat = self._sat + dt if sits else 0.0
        if sits and self._sat < 4.0:
            return
        self._follow(dt / 2.0, math.radians(3.5) * dt)

    def adopt(self) -> None:
        """Set the slope to the present attitude."""
        self._follow(1.0, MAX_SLOPE)

    def _follow(self, share: float, most: float) -> None:
        """Let the slope follow the attitude by a share of their difference, `most` [rad] at most."""
        difference = self.measured * self._heading.conjugate() - self.slope
        if cmath.isfinite(difference):  # there is an attitude
            self.slope = limit_length(self.slope + limit_length(share * difference, most), MAX_SLOPE)


# ---- obstacles -------------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """A tick of dt [s]; vectors are complex numbers, along and across the body's heading.

    acceleration [m/s^2]: horizontal, mean over dt; planned [m/s]: planned speed of the body over its feet now; twist
    [m/s]: the command as it is followed; period [s]: of the cycle; phase: in the cycle, 0 to 1; walks: whether the legs
    step; slow: whether the command itself is slower than SLOW.
    """

    dt: float
    acceleration: complex
    planned: complex
    twist: complex
    period: float
    phase: float
    walks: bool
    slow: bool = False


class Progress:
    """Detects whether the body is thrown back; speeds [m/s], accelerations [m/s^2] along and across the body's
    heading.

    A foot that runs against an obstacle higher than its lift throws the body back in each cycle, as far as the other
    legs have pushed it ahead: on average the body does not move. Whether a robot makes progress is detected by the
    accelerometer alone. A constant speed cannot be measured, but its changes can: the difference between the measured
    acceleration and that of the planned motion, integrated and high-pass filtered (against errors of the attitude), is
    the deviation of the speed from the planned one within the cycle.

    An obstacle throws the body back in each cycle; blocks that it steps over, and late set-points on a busy computer,
    have no such repeated effect. So the deviation along the commanded direction, in units of the commanded speed, is
    split into the part that repeats with the cycle (a Fourier series over the phase, averaged over 1.5 cycles) and the
    rest. With their mean squares r and s, `setback` is sqrt(r - s), or 0 if the rest is larger. It is 0 to 0.3 on level
    ground, 0.6 at most where a body rows up a slope, 1 for a moment at steps of 40 mm, and 1 to 2, cycle after cycle,
    where the robot makes no way (docs/results/ground.md). A body that is pushed steadily against a wall, with slipping
    feet, is not detected.

    is_set_back: whether `setback` exceeds its limit now. hindered: whether the robot makes no progress.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Discard the history: the gait, its lift or its command has changed."""
        self.setback = 0.0
        self.is_set_back = self.hindered = False
        self._cycles = 0.0  # number of cycles for which it has been set back
        self._deviation, self._mean, self._square = 0j, 0.0, 0.0
        self._planned: complex | None = None
        self._series = [0j] * HARMONICS

    def update(self, now: Sample, whole: bool) -> None:
        """Advance by a tick; whole: whether all legs walk. For slow commands the least speed is lower."""
        dt, acceleration, planned, twist, period, phase, walks, slow = now
        if not walks or abs(twist) < (0.03 if slow else SLOW) or not cmath.isfinite(acceleration):
            self.restart()
            return
        before, self._planned = planned if self._planned is None else self._planned, planned
        self._deviation = (1.0 - dt / 1.5) * self._deviation + acceleration * dt - (planned - before)
        along = (self._deviation / twist).real
        share = min(1.0, dt / (1.5 * period))
        self._mean += share * (along - self._mean)
        self._square += share * (along * along - self._square)
        repeated = self._add_deviation(along - self._mean, phase, share)
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

    def _add_deviation(self, deviation: float, phase: float, share: float) -> float:
        """Add a deviation, less its mean, with a weight to the Fourier series; return its mean square."""
        wave, turn, square = share * deviation + 0j, cmath.rect(1.0, math.tau * phase), 0.0
        for k, term in enumerate(self._series):
            wave *= turn
            self._series[k] = term = (1.0 - share) * term + wave
            square += (term * term.conjugate()).real
        return 2.0 * square


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
    """Chooses the Response, `does`; turned [rad]: by which the robot has turned on its way back; the gait notes it.

    A robot that makes no progress lifts its feet higher, then higher still, steps back and tries again at another angle
    and with other feet first, and finally stops. Each attempt ends when the obstacle still sets the robot back, or does
    so again (`Progress`). A robot that has stopped does not walk until it is commanded to stand or to walk in another
    direction.
    """

    def __init__(self) -> None:
        self.progress = Progress()
        self._was_felt = True  # whether the present attempt to climb was fast enough to be detected
        self._stopped = 0j  # commanded direction in which the robot met the obstacle
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
        along = self._stopped.conjugate() * complex(vx, vy)
        if self.does in (BACK, STOP) and (along == 0.0 or along.real < math.cos(math.radians(45.0)) * abs(along)):
            self.change_plan()

    @property
    def back_twist(self) -> tuple[float, float, float]:
        """Twist [m/s, m/s, rad/s] of a robot that steps back."""
        back = -BACK_SPEED / abs(self._stopped) * self._stopped
        return back.real, back.imag, 0.15 if self.backs % 2 else -0.15  # first to its left

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
            self._was_felt &= now.slow or abs(twist) >= SLOW
        if self._free_for > 30.0:
            self._unfelt = self.backs = 0
        if self._free_for > 10.0 and self.does != AS_FELT:  # the obstacle has been passed
            self._unfelt = self._unfelt + 1 if self.does == CLIMB and not self._was_felt else 0
            self.does, self._free_for = AS_FELT, 0.0
            if self._unfelt == 0:
                self.backs = 0
