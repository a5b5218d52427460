"""Covariance of the predicted pose; it grows with the distance walked and with time.

No sensor measures x, y and yaw: their errors accumulate. The error e = (x, y, yaw, s, l, b, g, h) of the world frame
obeys

    d(x, y) = (s + g u) (dx, dy) + (l + h u + yaw) (-dy, dx) + noise,    u = exp(-way / LEARNT)
    d yaw = b dt + noise of variance t^2 a^2 dt

with dx, dy the body's motion, s the relative slip along the path, l the relative sideways motion, b the gyroscope's
offset, a the change of the body's speed, t `turn_noise`; g and h are the effect of dead band and slope on the
travelled way until both are learnt. All five are unknown constants. The prior of s, l, g and h is their spread
over plausible model errors (masses, payload, stiffness, friction, dead band, slope); the prior of b is the error
that remains after calibration. The system is linear, so P <- F P F^T + Q.

z is the height of the learnt ground below the robot plus that of the body over it. The first is the slope integrated
along the way, and so is its error:

    var z = height^2 + way_noise^2 way + climb^2 |p|^2 + tilted^2 |b|^2

with p the displacement in the world, along which a slope that is too small to be learnt lasts; b the displacement
summed up in axes of the body, because an IMU or legs that are mounted askew make a slope that turns with the robot;
tilted^2 = mounting^2 + (angles_slope angles)^2.

The error of the heading grows faster, the harder the feet jerk the body: the gyroscope's low-pass filter passes a
part of the shocks that is aliased at the sampling rate. In addition to the accumulated errors, yaw, roll and pitch
have errors by motions of the body that the model does not have; the present innovations show how large these are.

a is computed from the low-pass filtered speed v, so that it does not depend on the rate of the steps:

    a = (v - u) (1 - exp(-dt / SMOOTH)) / dt,    u <- u + a dt
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.robot import Robot

SPEED_SMOOTHING = 0.04  # [s] time constant of the speed
# Way [m] in which dead band and slope are learnt: some 15 s of walking.
LEARNT = 1.2


@dataclass(frozen=True)
class PoseDrift:
    """Standard deviations: of s, l, g and h [1], of b [rad/s], of the noise, of the start.

    rate [rad/s]: of b, the chip's noise and wander in the second of a calibration. way_noise [m/sqrt(m)]. turn_noise
    [rad/sqrt(m^2/s^3)]: random walk of the yaw with the jerks, yaw_rate [rad/sqrt(s)]: with time, by the wander. tilt
    [rad]: of roll and pitch; tilt_share, yaw_share: share of the square of the present innovation that is added to
    the variance. height [m]: of the body over the ground. climb [1]: of the slope that is learnt. start [m], start_yaw
    [rad]. mounting [rad]: of roll and pitch of the IMU's mounting. angles [rad]: of the differences between joint
    angles and what the servos report, because of mounting errors of horns and play, and likewise of the direction in
    which a leg is mounted (its coxa turns as by the horn's error) and of the hips' places (2 mm are 1 degree of a
    leg's reach); angles_along, angles_across and angles_slope times this value are added to s, l and the slope. No
    sensor measures either; 0: the robot is exactly as described.

    along to early_across, way_noise, turn_noise and yaw_share were fitted to 43 walks of 60 s on MuJoCo with random
    masses, payloads, stiffness, friction, dead bands and slopes, every second one on rough ground
    (benchmark/prediction.py): 34 of the adaptive gait (seeds 2000, 5100), 9 of the tripod gait (seed 5000).
    along, early_along and early_across were then taken larger, by hand, for 28 adaptive walks of seed 3000; across, for
    feet that creep down a slope that they walk across at low friction, and tilt and tilt_share smaller, for 29 walks of
    both gaits of seeds 7000 and 8000. angles_along: of 12 walks with servos=real (seeds 20 to 31), whose errors along
    were 3 % (rms) at angles of 1 degree. angles_across, angles_slope, climb: of 14 walks with servos=real,hips=2,
    leg_yaw=1 (seeds 300 to 313; errors across 1.6 %, of z less the IMU's share 0.4 %) and 8 of `draw_truth` (200 to
    207; of z 0.4 %).
    """

    along: float = 0.0085
    across: float = 0.003
    early_along: float = 0.018
    early_across: float = 0.003
    rate: float = 1.35e-4
    way_noise: float = 0.0018
    turn_noise: float = 0.00037
    yaw_rate: float = 4.6e-4
    tilt: float = 0.00097
    tilt_share: float = 0.21
    yaw_share: float = 1.0
    height: float = 0.004
    climb: float = 0.004
    start: float = 0.0008
    start_yaw: float = 0.0003
    mounting: float = 0.0
    angles: float = 0.0
    angles_along: float = 1.5
    angles_across: float = 1.0
    angles_slope: float = 0.2

    @classmethod
    def from_robot(cls, robot: Robot, mounting: float = 0.0, angles: float = 0.0) -> PoseDrift:
        """The spread of a robot: `mounting` and `angles` [rad] where its file does not say how well it is identified.

        Where it does, mounting is that of the IMU, and angles is of the servos' zeros and of the place of a joint
        within its play, which is as likely anywhere: play / sqrt(3).
        """
        if robot.imu.tilt_deviation is not None:
            mounting = robot.imu.tilt_deviation
        known = [(law.zero_deviation, law.play) for law in robot.joint_servos if law.zero_deviation is not None]
        if robot.joint_servos and len(known) == len(robot.joint_servos):
            angles = math.sqrt(sum(zero**2 + play**2 / 3.0 for zero, play in known) / len(known))
        return cls(mounting=mounting, angles=angles)


class PoseUncertainty:
    """Covariance of a predicted pose; spread: a PoseDrift."""

    def __init__(self, spread: PoseDrift | None = None) -> None:
        self.spread = spread or PoseDrift()
        self.pose = np.zeros((6, 6))  # x, y, z [m], roll, pitch, yaw [rad], world axes; as nav_msgs/Odometry
        self._transition, self._noise = np.eye(8), np.zeros(8)  # of the error e
        self.clear()

    def clear(self) -> None:
        """Reset the covariance to that of a known pose."""
        s = self.spread
        along = math.hypot(s.along, s.angles_along * s.angles)
        across = math.hypot(s.across, s.angles_across * s.angles)
        self.covariance = np.diag(
            np.square([s.start, s.start, s.start_yaw, along, across, s.rate, s.early_along, s.early_across])
        )
        self._unreliable = self._speed = self._walked = 0.0
        self._displaced = [0.0] * 4  # in the world along x and y, summed up in axes of the body along x and y [m]
        self._tilted = math.hypot(s.mounting, s.angles_slope * s.angles)
        self._fill(0.0, 0.0)

    def advance(
        self,
        step: tuple[float, float, float],
        yaw: float,
        inconsistent: bool = False,
        tilt_innovation: float = 0.0,
        yaw_innovation: float = 0.0,
    ) -> None:
        """Advance by one step.

        step: (dx, dy, dt), motion in the body's axes [m] and time [s]; yaw [rad] of the body in the world.
        inconsistent: whether measurements contradict the model; the robot may then have any velocity that it can
        reach. tilt_innovation, yaw_innovation [rad]: differences of the measured and the predicted tilt and yaw.
        """
        dx, dy, dt = step
        s, way = self.spread, math.hypot(dx, dy)
        jerked = self._jerks(way, dt)
        cos, sin = math.cos(yaw), math.sin(yaw)
        wx, wy = cos * dx - sin * dy, sin * dx + cos * dy
        self._walked += way
        self._displaced = [sum(each) for each in zip(self._displaced, (wx, wy, dx, dy), strict=True)]
        early = math.exp(-self._walked / LEARNT)
        f, noise = self._transition, self._noise
        f[0, 2:] = -wy, wx, -wy, 0.0, early * wx, -early * wy
        f[1, 2:] = wx, wy, wx, 0.0, early * wy, early * wx
        f[2, 5] = dt
        noise[:3] = s.way_noise**2 * way, s.way_noise**2 * way, s.turn_noise**2 * jerked + s.yaw_rate**2 * dt
        if inconsistent:
            # Since then the velocity may be any constant one, with 0.1 m/s and 0.1 rad/s as standard deviations.
            noise[:3] += 0.01 * (2.0 * self._unreliable + dt) * dt
            self._unreliable += dt
        else:
            self._unreliable = 0.0
        self.covariance = f @ self.covariance @ f.T
        self.covariance.ravel()[::9] += noise  # its diagonal
        self._fill(tilt_innovation, yaw_innovation)

    def _jerks(self, way: float, dt: float) -> float:
        """Return a^2 dt [m^2/s^3] of a step of a length [m] in a time [s]."""
        if dt <= 0.0:
            return 0.0
        a = (way / dt - self._speed) * -math.expm1(-dt / SPEED_SMOOTHING) / dt
        self._speed += a * dt
        return min(abs(a), 3.0) ** 2 * dt  # [m/s^2]

    def _fill(self, tilt_innovation: float, yaw_innovation: float) -> None:
        s, pose, planar = self.spread, self.pose, self.covariance
        pose[:2, :2], pose[:2, 5] = planar[:2, :2], planar[:2, 2]
        pose[5, :2], pose[5, 5] = planar[2, :2], planar[2, 2] + s.yaw_share * yaw_innovation**2
        x, y, forward, aside = self._displaced
        pose[2, 2] = s.height**2 + s.way_noise**2 * self._walked
        pose[2, 2] += s.climb**2 * (x * x + y * y) + self._tilted**2 * (forward * forward + aside * aside)
        pose[3, 3] = pose[4, 4] = s.tilt**2 + s.mounting**2 + s.tilt_share * tilt_innovation**2
