"""Attitude from gyro and accelerometer (VQF, Laidig and Seel 2023, or a filter of this package), and gyro calibration
at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.imu.complementary_filter import ComplementaryFilter
from hexapod_dynamics.errors import DeviceError

_EDGE = 0.05  # [s] at each end of a gap, in which the rate is assumed to be that of the sample there
_MEAN = 0.5  # [s] time constant of the mean rate, which is assumed between


class AttitudeFilter(Protocol):
    """Estimates the attitude world <- chip from samples at a constant rate; yaw is zero at the start."""

    @property
    def name(self) -> str:
        """Name for the diagnostics."""

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(w, x, y, z) world <- chip."""

    @property
    def bias(self) -> np.ndarray:
        """Gyro bias (3,) [rad/s]."""

    @property
    def at_rest(self) -> bool:
        """Whether the chip is at rest now."""

    def predict(self, gyro: npt.NDArray[np.float64]) -> None:
        """Turn by an angular velocity (3,) [rad/s] for one period."""

    def update(self, gyro: npt.NDArray[np.float64], accel: npt.NDArray[np.float64]) -> None:
        """Take angular velocity (3,) [rad/s] and specific force (3,) [m/s^2]."""


class VqfFilter:
    """VQF of the package vqf; raises ImportError without it."""

    name = "VQF"

    def __init__(self, period: float, time_constant: float, bias_limit: float) -> None:
        from vqf import VQF

        self._filter = VQF(period, tauAcc=time_constant, biasClip=math.degrees(bias_limit))
        self.predict, self.update = self._filter.updateGyr, self._filter.update

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(w, x, y, z) world <- chip."""
        w, x, y, z = self._filter.getQuat6D()
        return w, x, y, z

    @property
    def bias(self) -> np.ndarray:
        """Gyro bias (3,) [rad/s]."""
        return self._filter.getBiasEstimate()[0]

    @property
    def at_rest(self) -> bool:
        """Whether the chip is at rest now."""
        return self._filter.getRestDetected()


def best_filter(period: float, time_constant: float, bias_limit: float) -> AttitudeFilter:
    """Return VQF if it is installed, else the complementary filter of this package."""
    try:
        return VqfFilter(period, time_constant, bias_limit)
    except ImportError:
        return ComplementaryFilter(period, time_constant, bias_limit)


class OrientationFilter:
    """Attitude with gyro bias estimation at rest and in motion, updated at a constant rate.

    rate [1/s]. accel_time_constant [s]: of the correction by the accelerometer; larger ones reject the shocks of steps.
    heading [rad]: yaw of the chip at the start. bias_limit [rad/s]: largest residual bias that the filter estimates.
    make(period [s], time constant [s], bias limit [rad/s]): creates the AttitudeFilter.
    """

    def __init__(
        self,
        rate: float,
        accel_time_constant: float = 3.0,
        heading: float = 0.0,
        bias_limit: float = math.radians(2.0),
        make: Callable[[float, float, float], AttitudeFilter] = best_filter,
    ) -> None:
        self._period = 1.0 / rate
        self._filter = make(self._period, accel_time_constant, bias_limit)
        self._turn = math.cos(0.5 * heading), math.sin(0.5 * heading)
        self._accel, self._gyro = np.zeros(3), np.zeros(3)
        self._before, self._mean = np.zeros(3), np.zeros(3)  # rate of the last sample; over the last half second
        self._step = np.zeros(3)  # of the mean rate
        self._last: float | None = None  # [s] of the last sample

    def update(
        self, acceleration: npt.ArrayLike, angular_velocity: npt.ArrayLike, t: float
    ) -> tuple[float, float, float, float]:
        """Take one sample (SI, chip axes) at time t [s]; returns the quaternion (x, y, z, w) world <- chip.

        A gap of up to a second is bridged: with the rates at its ends, for 0.05 s each, and the mean rate between. A
        foot's impact of 2 rad/s would else be 60 degrees of tilt after half a second in which a computer was too busy.
        Steps are counted on one grid of time, so that samples that arrive late and then early are not integrated
        twice.
        """
        self._accel[:], self._gyro[:] = acceleration, angular_velocity
        longest = round(1.0 / self._period)
        steps = 1 if self._last is None else round((t - self._last) / self._period)
        if self._last is None or not 0 <= steps <= longest:
            self._last, steps = t, min(max(steps, 1), longest)
        else:
            self._last += steps * self._period
        missed, edge = steps - 1, round(_EDGE / self._period)
        for k in range(missed):
            if k < min(edge, missed / 2):
                rate = self._before
            elif missed - k <= edge:
                rate = self._gyro
            else:
                rate = self._mean
            self._filter.predict(rate)
        if steps > 0:
            self._filter.update(self._gyro, self._accel)
            self._before[:] = self._gyro
            np.subtract(self._gyro, self._mean, out=self._step)
            self._step *= self._period / _MEAN
            self._mean += self._step
        w, x, y, z = self._filter.quaternion
        c, s = self._turn
        return c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z

    @property
    def name(self) -> str:
        """Name of the filter."""
        return self._filter.name

    @property
    def bias(self) -> np.ndarray:
        """Residual gyro bias (3,) [rad/s], as estimated by the filter."""
        return self._filter.bias

    @property
    def at_rest(self) -> bool:
        """Whether the chip is at rest now."""
        return self._filter.at_rest


@dataclass
class Calibration:
    """Offsets that are subtracted: gyro (3,) [rad/s] and accelerometer (3,) [m/s^2], chip axes."""

    gyro: np.ndarray
    accel: np.ndarray


class RestCalibrator:
    """Collects the samples of one calibration and decides whether the chip was at rest.

    duration [s], rate [1/s]; gyro_spread [rad/s], accel_spread [m/s^2]: largest standard deviations that count as rest.
    """

    def __init__(
        self, rate: float, duration: float = 1.0, gyro_spread: float = 0.01, accel_spread: float = 0.15
    ) -> None:
        self._samples = np.zeros((max(10, round(rate * duration)), 6))
        self._count = 0
        self._gyro_spread, self._accel_spread = gyro_spread, accel_spread

    @property
    def done(self) -> bool:
        """Whether there are enough samples."""
        return self._count == len(self._samples)

    def add(self, acceleration: npt.ArrayLike, angular_velocity: npt.ArrayLike) -> None:
        """Take one sample."""
        if not self.done:
            self._samples[self._count, :3], self._samples[self._count, 3:] = acceleration, angular_velocity
            self._count += 1

    def restart(self) -> None:
        """Discard the samples."""
        self._count = 0

    def result(self, up: npt.ArrayLike | None = None, gravity: float = 9.80665) -> Calibration:
        """Return the offsets; raise DeviceError if the chip moved.

        up (3,): the vertical in chip axes if it is known (the robot stands level); then the offset of the accelerometer
        is computed as well, else it is zero.
        """
        used = self._samples[: self._count]
        mean, spread = used.mean(axis=0), used.std(axis=0)
        if spread[3:].max() > self._gyro_spread or spread[:3].max() > self._accel_spread:
            raise DeviceError(
                f"not at rest: angular velocity varies by {spread[3:].max():.4f} rad/s (allowed {self._gyro_spread}), "
                f"acceleration by {spread[:3].max():.3f} m/s^2 (allowed {self._accel_spread}); stand still, try again"
            )
        accel = np.zeros(3) if up is None else mean[:3] - gravity * np.asarray(up, float)
        return Calibration(mean[3:], accel)
