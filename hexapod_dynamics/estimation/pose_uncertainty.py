"""Covariance of the predicted pose; it grows with the distance walked and with time.

No sensor measures x, y and yaw: their errors accumulate. The error e = (x, y, yaw, s, l, b) of the world frame obeys

    d(x, y) = R(yaw) [(1 + s) dx, dy + l dx] - R(yaw) [dx, dy] + noise,    d yaw = b a^2 dt + noise

with dx, dy the body's motion in its own axes, s the relative slip along the path, l the relative sideways motion, a the
change of the body's speed, b the turn for it. s, l and b are unknown constants of the robot and its ground; their prior
below is their spread over plausible model errors (masses, payload, stiffness, friction, dead band, slope); the noise
changes from step to step. The system is linear, so P <- F P F^T + Q. Roll and pitch are measured: their errors do not
grow.

The heading errs the more, the harder feet jerk the body (probably because the gyroscope misses what happens between its
samples): with a turn per metre instead, one spread cannot be right for the adaptive gait (0.02 degrees a metre) and the
tripod (0.15).
a is that of the speed v, low-pass filtered, which does not depend on the rate of the steps:

    a = (v - u) (1 - exp(-dt / SMOOTH)) / dt,    u <- u + a dt
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

X, Y, YAW, ALONG, ACROSS, TURN, STATES = range(7)


# Time constant of the speed [s], largest change of it [m/s^2].
SMOOTH, HARDEST = 0.04, 3.0


@dataclass(frozen=True)
class Spread:
    """Standard deviations: of s and l [1], of b [rad s^3/m^2], of the noise, of the start.

    way_noise [m/sqrt(m)]. turn_noise [rad/sqrt(m^2/s^3)]: random walk of the yaw with the jerks, yaw_rate
    [rad/sqrt(s)]: with time. tilt [rad]: of roll and pitch, tilt_share: what of the square of the present tilt
    innovation is added to its variance. height [m]: of z. start [m], start_yaw [rad].

    The values were fitted to 42 walks of 60 s on MuJoCo with random masses, payloads, stiffness, friction, dead bands
    and slopes, every second one on rough ground: 25 of the adaptive gait (benchmark/prediction.py --seed 2000 --rough
    0.008), 17 of the tripod gait (--seed 2500).
    """

    along: float = 0.017
    across: float = 0.0006
    turn: float = 0.0013
    way_noise: float = 0.0025
    turn_noise: float = 0.001
    yaw_rate: float = 1e-5
    tilt: float = 0.00125
    tilt_share: float = 0.35
    height: float = 0.004
    start: float = 0.0006
    start_yaw: float = 0.0012


class PoseUncertainty:
    """Covariance of a predicted pose; spread: a Spread."""

    def __init__(self, spread: Any = None) -> None:
        self.spread = spread or Spread()
        self.pose = np.zeros((6, 6))  # x, y, z [m], roll, pitch, yaw [rad], world axes; as nav_msgs/Odometry
        self._transition, self._noise = np.eye(STATES), np.zeros(STATES)
        self.clear()

    def clear(self) -> None:
        """Reset: the pose is known."""
        s = self.spread
        self.covariance = np.diag(np.square([s.start, s.start, s.start_yaw, s.along, s.across, s.turn]))
        self._doubted = self._speed = 0.0
        self._fill(0.0)

    def advance(self, step: Any, yaw: float, doubted: bool = False, tilt_innovation: float = 0.0) -> None:
        """Advance by one step.

        step: (dx, dy, dt), motion in the body's axes [m] and time [s]; yaw [rad] of the body in the world. doubted:
        whether measurements contradict the model: the robot may then have any velocity that it can reach.
        tilt_innovation [rad]: difference of the measured and the predicted tilt.
        """
        dx, dy, dt = step
        s, way = self.spread, math.hypot(dx, dy)
        jerked = self._jerks(way, dt)
        cos, sin = math.cos(yaw), math.sin(yaw)
        wx, wy = cos * dx - sin * dy, sin * dx + cos * dy
        f = self._transition
        f[X, YAW], f[Y, YAW] = -wy, wx
        f[X, ALONG], f[Y, ALONG] = wx, wy
        f[X, ACROSS], f[Y, ACROSS] = -wy, wx
        f[YAW, TURN] = jerked
        noise = self._noise
        noise[X] = noise[Y] = s.way_noise**2 * way
        noise[YAW] = s.turn_noise**2 * jerked + s.yaw_rate**2 * dt
        if doubted:
            # An unknown constant velocity of 0.1 m/s and 0.1 rad/s since the doubt began.
            noise[X] += 0.01 * (2.0 * self._doubted + dt) * dt
            noise[Y] += 0.01 * (2.0 * self._doubted + dt) * dt
            noise[YAW] += 0.01 * (2.0 * self._doubted + dt) * dt
            self._doubted += dt
        else:
            self._doubted = 0.0
        self.covariance = f @ self.covariance @ f.T
        self.covariance.ravel()[:: STATES + 1] += noise  # its diagonal
        self._fill(tilt_innovation)

    def _jerks(self, way: float, dt: float) -> float:
        """Return a^2 dt [m^2/s^3] of a step of a length [m] in a time [s]."""
        if dt <= 0.0:
            return 0.0
        a = (way / dt - self._speed) * -math.expm1(-dt / SMOOTH) / dt
        self._speed += a * dt
        return min(abs(a), HARDEST) ** 2 * dt

    def _fill(self, tilt_innovation: float) -> None:
        s, pose, planar = self.spread, self.pose, self.covariance
        pose[:2, :2], pose[:2, 5] = planar[:2, :2], planar[:2, 2]
        pose[5, :2], pose[5, 5] = planar[2, :2], planar[2, 2]
        pose[2, 2] = s.height**2
        pose[3, 3] = pose[4, 4] = s.tilt**2 + s.tilt_share * tilt_innovation**2
