"""Attitude from gyro and accelerometer without other packages: the explicit complementary filter with bias estimation.

    e = v x d,    dq/dt = 1/2 q (omega - b + k e),    db/dt = -k^2/4 e

with v the measured and d the estimated direction of up in chip axes (Mahony, Hamel and Pflimlin 2008, equations 32a to
32c). k = 1 / time constant, and critically damped; a sample whose norm is not that of gravity, a foot's impact, counts
less. At rest the bias is the mean of the gyro, on all three axes. Used where `vqf` is not installed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

_REST_GYRO, _REST_ACCEL = math.radians(2.0), 0.5  # [rad/s], [m/s^2] from their means: the values of VQF
_REST_TIME, _MEAN_TIME = 1.5, 0.5  # [s] after which it counts as rest; time constant of those means
_REST_BIAS_TIME = 2.0  # [s] time constant with which the bias follows the gyro at rest
_NORM_TIME = 10.0  # [s] time constant of the mean norm, which differs from gravity by the accelerometer's offset
_NORM_SPAN = 0.25  # relative deviation of the norm at which a sample no longer counts


class ComplementaryFilter:
    """Estimates the attitude world <- chip; yaw is zero at the start.

    period [s] between samples; time_constant [s] of the correction by the accelerometer; bias_limit [rad/s]: bound
    of the estimated gyro bias on each axis. bias (3,) [rad/s] and at_rest are those of the last `update`.
    """

    name = "complementary filter, because vqf is not installed"

    def __init__(self, period: float, time_constant: float, bias_limit: float) -> None:
        self.bias, self.at_rest = np.zeros(3), False
        self._period, self._gain, self._limit = period, 1.0 / time_constant, bias_limit
        self._w, self._x, self._y, self._z = 1.0, 0.0, 0.0, 0.0  # world <- chip
        self._age = 0.0  # [s] since the first sample
        self._norm = 0.0  # [m/s^2] mean norm of the specific force
        self._still = 0.0  # [s] without motion
        self._mean = [0.0] * 6  # gyro, accelerometer

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(w, x, y, z) world <- chip."""
        return self._w, self._x, self._y, self._z

    def predict(self, gyro: npt.NDArray[np.float64]) -> None:
        """Turn by an angular velocity (3,) [rad/s] for one period, without an accelerometer."""
        gx, gy, gz = gyro.tolist()
        bx, by, bz = self.bias.tolist()
        self._turn(gx - bx, gy - by, gz - bz)

    def update(self, gyro: npt.NDArray[np.float64], accel: npt.NDArray[np.float64]) -> None:
        """Take a sample: angular velocity (3,) [rad/s] and specific force (3,) [m/s^2]."""
        gx, gy, gz = gyro.tolist()
        ax, ay, az = accel.tolist()
        norm = math.sqrt(ax * ax + ay * ay + az * az)
        bx, by, bz = self.bias.tolist()
        if norm < 1e-6:  # free fall: there is no direction
            self._turn(gx - bx, gy - by, gz - bz)
            return
        vx, vy, vz = ax / norm, ay / norm, az / norm
        if self._age == 0.0:
            self._begin(vx, vy, vz, norm)
            self._mean[:] = (gx, gy, gz, ax, ay, az)
        self._age += self._period
        self._norm += (norm - self._norm) * min(1.0, self._period / min(self._age, _NORM_TIME))
        weight = max(0.0, 1.0 - abs(norm / self._norm - 1.0) / _NORM_SPAN)
        gain = weight * max(self._gain, 1.0 / self._age)  # at the start this yields the mean of all samples so far
        w, x, y, z = self.quaternion
        dx, dy, dz = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)  # R^T e3
        ex, ey, ez = vy * dz - vz * dy, vz * dx - vx * dz, vx * dy - vy * dx
        self._turn(gx - bx + gain * ex, gy - by + gain * ey, gz - bz + gain * ez)
        self._watch_rest(gx, gy, gz, ax, ay, az)
        if self.at_rest:
            share = self._period / _REST_BIAS_TIME
            self._set_bias(bx + share * (gx - bx), by + share * (gy - by), bz + share * (gz - bz))
        elif self._age > 1.0 / self._gain:
            share = 0.25 * weight * self._gain * self._gain * self._period
            self._set_bias(bx - share * ex, by - share * ey, bz - share * ez)

    def _begin(self, vx: float, vy: float, vz: float, norm: float) -> None:
        """The smallest rotation that takes the measured up (vx, vy, vz) to the world's z axis."""
        self._norm = norm
        if vz < -0.999999:  # upside down: about x
            self._w, self._x, self._y, self._z = 0.0, 1.0, 0.0, 0.0
            return
        scale = 1.0 / math.sqrt(2.0 * (1.0 + vz))
        self._w, self._x, self._y, self._z = (1.0 + vz) * scale, vy * scale, -vx * scale, 0.0

    def _turn(self, ox: float, oy: float, oz: float) -> None:
        """Turn by the angular velocity [rad/s], chip axes, for one period: q <- q exp(omega dt / 2)."""
        rate = math.sqrt(ox * ox + oy * oy + oz * oz)
        half = 0.5 * rate * self._period
        sine = math.sin(half) / rate if rate > 1e-12 else 0.5 * self._period
        c, sx, sy, sz = math.cos(half), sine * ox, sine * oy, sine * oz
        w, x, y, z = self.quaternion
        w, x, y, z = (
            w * c - x * sx - y * sy - z * sz,
            w * sx + x * c + y * sz - z * sy,
            w * sy - x * sz + y * c + z * sx,
            w * sz + x * sy - y * sx + z * c,
        )
        scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        self._w, self._x, self._y, self._z = w * scale, x * scale, y * scale, z * scale

    def _set_bias(self, bx: float, by: float, bz: float) -> None:
        limit, bias = self._limit, self.bias
        bias[0] = min(limit, max(-limit, bx))
        bias[1] = min(limit, max(-limit, by))
        bias[2] = min(limit, max(-limit, bz))

    def _watch_rest(self, *sample: float) -> None:
        """Count the time in which gyro and accelerometer stay near to their means, and the gyro below its limit."""
        mean, share = self._mean, self._period / _MEAN_TIME
        moved = False
        for k, value in enumerate(sample):
            mean[k] += share * (value - mean[k])
            moved = moved or abs(value - mean[k]) > (_REST_GYRO if k < 3 else _REST_ACCEL)
            moved = moved or (k < 3 and abs(mean[k]) > self._limit + _REST_GYRO)
        self._still = 0.0 if moved else min(self._still + self._period, _REST_TIME)
        self.at_rest = self._still >= _REST_TIME
