"""The reference of the tilt reflex: a slow average of gravity's direction over gait cycles.

The slope (east, north) [rad], pitch and roll of a robot that stands on it with the yaw 0, follows the measured
tilt with the time constant AVERAGE, but no faster than FOLLOW: a robot that walks onto a slope of 10 degrees turns
by 3 degrees a second, a falling robot turns faster. The slope is never steeper than STEEPEST, so that a robot that
lies on its side does not count as level. While the robot sits tilted, the slope changes only after SETTLED,
because the robot may be falling over.
"""

from __future__ import annotations

import math

AVERAGE = 2.0  # [s]
FOLLOW = math.radians(3.5)  # [rad/s]
STEEPEST = math.radians(25.0)
SETTLED = 4.0  # [s]


class SlopeReference:
    """Learns the slope under a walking robot; all angles [rad]."""

    def __init__(self) -> None:
        self.east = self.north = 0.0
        self._roll = self._pitch = self._yaw = 0.0
        self._sat = 0.0  # [s] for which the robot has sat
        self._known = False

    def copy(self) -> SlopeReference:
        """Return an independent copy."""
        twin = SlopeReference()
        twin.__dict__.update(self.__dict__)
        return twin

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Process the attitude of the body, less its commanded lean."""
        self._roll, self._pitch, self._yaw, self._known = roll, pitch, yaw, True

    @property
    def tilt(self) -> float:
        """Tilt of the body against the slope."""
        roll, pitch = self.attitude
        return math.hypot(self._roll - roll, self._pitch - pitch)

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
        """Move the learnt slope towards the attitude, dt [s] after the last call; sits: whether the robot sits, so
        that no foot has to stand.
        """
        if not self._known:
            return
        self._sat = self._sat + dt if sits else 0.0
        if sits and self._sat < SETTLED:
            return
        self._follow(dt / AVERAGE, FOLLOW * dt)

    def adopt(self) -> None:
        """Set the slope to the present attitude."""
        self._follow(1.0, STEEPEST)

    def _follow(self, share: float, most: float) -> None:
        """Let the slope follow the attitude by a share of their difference, `most` [rad] at most."""
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        east = cos * self._pitch + sin * self._roll - self.east
        north = cos * self._roll - sin * self._pitch - self.north
        size = math.hypot(east, north)
        if not 0.0 < size < math.inf:  # no difference, or no attitude (NaN)
            return
        move = min(share * size, most) / size
        self.east, self.north = self.east + move * east, self.north + move * north
        steep = math.hypot(self.east, self.north)
        if steep > STEEPEST:
            self.east, self.north = self.east * STEEPEST / steep, self.north * STEEPEST / steep
