"""What a blind gait feels of the ground, its roughness and its slope, and what it changes there.

Rough and sloping ground change the lift of the feet, the position of the body and the allowed tilt.

Roughness is measured by motion that does not repeat: on smooth ground the body rocks in each cycle as in the
previous one, with any servos and any gait. The attitude against the slope, and the heading less the commanded one
(which changes when a foot runs against an edge), are compared with those at the same phase of the previous cycle,
in BINS bins; the root mean square of the differences over the last cycle is the measured roughness. Cycles of another
twist are no repetition: after the twist has changed, the comparisons begin again with the second cycle. On rough ground
the feet are lifted higher, until it has been smooth for LASTING. The first cycle of a rowing body is not used for
comparisons, nor is that after a change of plan: the robot starts from another pose and turns back to its heading.

On a slope, and on a body that is tilted by an obstacle, gravity shifts the centre of mass downhill in the polygon of
the feet by its height times the tangent of the tilt; the body is moved uphill by the same distance, as far as the
legs reach. A tilt below DEAD_ZONE is ignored, because it may be an error of the IMU's mounting. From twice
DEAD_ZONE on, the shift is complete.

The reference of the tilt reflex: a slow average of gravity's direction over gait cycles.

The slope (east, north) [rad], pitch and roll of a robot that stands on it with the yaw 0, follows the measured tilt,
but not fast: a robot that walks onto a slope of 10 degrees turns by 3 degrees a second, a falling robot turns faster.
The slope is never steeper than STEEPEST, so that a robot that lies on its side does not count as level. While the robot
sits tilted, the slope changes only after some seconds, because the robot may be falling over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

BINS = 16
CALM, LASTING = math.radians(1.2), 12.0  # roughness [rad] of smooth ground, for how long [s]
RAISING, LOWERING = 0.6, 3.0  # [s] duration of the whole change of lift
DEAD_ZONE = math.radians(4.0)
STEEPEST = math.radians(25.0)


def bounded(vector: complex, most: float) -> complex:
    """Return a vector x + i y of the same direction, at most `most` long."""
    size, most = abs(vector), max(0.0, most)
    return most / size * vector if size > most else vector


class GroundAdaptation:
    """Estimates the ground from the IMU; all angles [rad], lengths [m].

    rough: whether the feet are to be lifted higher. share: share of the additional lift that is reached, 0 to 1.
    leeway: share of the additional tilt of rough ground that is allowed, 0 to 1. shift: x + i y of the body in
    base_link. roughness: of the last cycle. walked_for [s]: time without a stop. Attributes that the gait sets:
    height of the centre of mass over the feet; most_shift: largest shift within the reach of the legs; settles:
    whether the first cycle of the gait differs from the later ones.
    """

    def __init__(self) -> None:
        self.rough = False
        self.share = self.leeway = self.roughness = self.most_shift = 0.0
        self.shift = 0j
        self.height = 0.0  # of the centre of mass over the feet
        self.walked_for = self._calm_for = self._rough_for = 0.0  # [s]
        self._roll = self._pitch = 0.0
        self._before, self._squares = [(0.0, 0.0, 0.0)] * BINS, [0.0] * BINS
        self._bin, self._known, self.settles = -1, 0, False
        self._twist = [0.0, 0.0, 0.0]  # of the cycles that are compared
        self._changed = False  # whether no two cycles of the present plan have been compared yet

    def change_plan(self) -> None:
        """Discard the previous cycle, because the gait changes.

        If the ground has been rough for less than 4 s, within which a lost leg is detected, that was the cause.
        """
        self._changed = True
        self._begin()
        self._squares[:] = [0.0] * BINS
        if self.rough and self._rough_for < 4.0:
            self.rough, self.leeway, self.roughness = False, 0.0, 0.0

    def update(
        self,
        dt: float,
        phase: float,
        roll: float,
        pitch: float,
        slope: tuple[float, float],
        heading: float,
        walks: bool,
        tilted: bool = False,
        twist: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Let dt [s] pass.

        phase: of the cycle; roll, pitch: of the body against gravity; slope: roll and pitch of a body that stands on
        the slope; heading: less the commanded one, 0 if the heading is not controlled; walks: whether the legs
        step; tilted: whether the body is beyond the tilt limit of smooth ground, perhaps because it has lost a
        leg; then the limit is not increased; twist: that the feet follow.
        """
        if not math.isfinite(roll + pitch + heading):
            return
        self._shift(dt, roll, pitch)
        if not walks:
            self.walked_for = 0.0
            self._begin()
            return
        self.walked_for += dt
        same = 0.01, 0.01, 0.05  # [m/s, m/s, rad/s]
        if any(abs(now - then) > most for now, then, most in zip(twist, self._twist, same, strict=True)):
            self._twist[:] = twist
            self.compare_anew()
        self._feel(int(phase * BINS) % BINS, (roll - slope[0], pitch - slope[1], heading))
        limit = CALM if self.rough else math.radians(2.0)
        self.rough = self.roughness > limit or (self.rough and self._calm_for < LASTING)
        self._calm_for = 0.0 if self.roughness > CALM else self._calm_for + dt
        self._rough_for = self._rough_for + dt if self.rough else 0.0
        if not self.rough:
            self.share = max(0.0, self.share - dt / LOWERING)
            self.leeway = max(0.0, self.leeway - dt / LOWERING)
            return
        self.share = min(1.0, self.share + dt / RAISING)
        if not tilted:
            self.leeway = min(1.0, self.leeway + dt / RAISING)

    def compare_anew(self) -> None:
        """Begin the comparisons again with the second cycle: the body moves otherwise than in the cycle before."""
        self._bin, self._known = -1, -BINS

    def _begin(self) -> None:
        """Discard the previous cycle."""
        self._bin, self._known = -1, -BINS if self.settles or self._changed else 0

    def expect_rough(self) -> None:
        """Assume that the ground is rough: the robot tipped, sat down, and goes on with the same legs."""
        self.rough, self.share, self.leeway, self._calm_for = True, 1.0, 1.0, 0.0

    def _feel(self, now: int, attitude: tuple[float, float, float]) -> None:
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

    def _shift(self, dt: float, roll: float, pitch: float) -> None:
        """Let the shift follow the value that the tilt of the body demands."""
        turn = math.tau * dt  # smoothed at 1 Hz
        self._roll += (roll - self._roll) * turn / (1.0 + turn)
        self._pitch += (pitch - self._pitch) * turn / (1.0 + turn)
        tilt = math.hypot(self._roll, self._pitch)
        beyond = min(1.0, max(0.0, tilt / DEAD_ZONE - 1.0))
        wanted = complex(-math.tan(self._pitch), math.tan(self._roll)) * beyond * self.height
        self.shift += (bounded(wanted, self.most_shift) - self.shift) * dt * 1.5  # [1/s]


class SlopeReference:
    """Learns the slope under a walking robot; all angles [rad]."""

    def __init__(self) -> None:
        self.east = self.north = 0.0
        self.roll = self.pitch = self._yaw = 0.0  # of the body, as last measured
        self._sat = 0.0  # [s] for which the robot has sat

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Process the attitude of the body, less its commanded lean."""
        self.roll, self.pitch, self._yaw = roll, pitch, yaw

    @property
    def tilt(self) -> float:
        """Tilt of the body against the slope."""
        roll, pitch = self.attitude
        return math.hypot(self.roll - roll, self.pitch - pitch)

    @property
    def ground_normal(self) -> tuple[float, float, float]:
        """Upward direction (3,), in base_link axes, of a body that stands on the slope with the present heading."""
        roll, pitch = self.attitude
        return -math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)

    @property
    def attitude(self) -> tuple[float, float]:
        """Roll and pitch of a body that stands on the slope with the present heading."""
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        return sin * self.east + cos * self.north, cos * self.east - sin * self.north

    def learn(self, dt: float, sits: bool) -> None:
        """Follow the attitude, dt [s] after the last call; sits: whether the robot sits, so no foot has to stand."""
        self._sat = self._sat + dt if sits else 0.0
        if sits and self._sat < 4.0:
            return
        self._follow(dt / 2.0, math.radians(3.5) * dt)

    def adopt(self) -> None:
        """Set the slope to the present attitude."""
        self._follow(1.0, STEEPEST)

    def _follow(self, share: float, most: float) -> None:
        """Let the slope follow the attitude by a share of their difference, `most` [rad] at most."""
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        east = cos * self.pitch + sin * self.roll - self.east
        north = cos * self.roll - sin * self.pitch - self.north
        size = math.hypot(east, north)
        if not 0.0 < size < math.inf:  # no difference, or no attitude (NaN)
            return
        move = min(share * size, most) / size
        self.east, self.north = self.east + move * east, self.north + move * north
        steep = math.hypot(self.east, self.north)
        if steep > STEEPEST:
            self.east, self.north = self.east * STEEPEST / steep, self.north * STEEPEST / steep
