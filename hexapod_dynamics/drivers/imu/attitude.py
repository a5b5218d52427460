"""Attitude from gyro and accelerometer (VQF, Laidig and Seel 2023, or a filter of this package), and gyro calibration
at rest.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DeviceError

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


_EDGE = 0.05  # [s] at each end of a gap, in which the rate is assumed to be that of the sample there
_MEAN = 0.5  # [s] time constant of the mean rate, which is assumed between


class VqfFilter:
    """VQF of the package vqf, with the calls of a ComplementaryFilter; raises ImportError without it."""

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


AttitudeFilter = VqfFilter | ComplementaryFilter


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
    make(period [s], time constant [s], bias limit [rad/s]): creates the AttitudeFilter `estimator`.
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
        self.estimator = make(self._period, accel_time_constant, bias_limit)
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
            self.estimator.predict(rate)
        if steps > 0:
            self.estimator.update(self._gyro, self._accel)
            self._before[:] = self._gyro
            np.subtract(self._gyro, self._mean, out=self._step)
            self._step *= self._period / _MEAN
            self._mean += self._step
        w, x, y, z = self.estimator.quaternion
        c, s = self._turn
        return c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z


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


Vector = tuple[float, float, float]
KEPT_FOR = 600.0  # [s] stored offsets are used again if the process restarts within this time


def _less(vector: Sequence[float], offset: np.ndarray) -> Vector:
    """Return vector - offset."""
    (x, y, z), (a, b, c) = vector, offset.tolist()
    return x - a, y - b, z - c


class CalibratedImu:
    """Subtracts offsets from samples and estimates the attitude; the reader thread calls `accept`, others the rest.

    rate [1/s]; rotation (3, 3) body <- chip; time_constant [s] of the inclination; level: the body stands level at
    `calibrate`, so that the offset of the accelerometer is found too; memory: file that
    stores the offsets, or None; warn(text).
    """

    def __init__(
        self,
        rate: float,
        rotation: npt.ArrayLike,
        time_constant: float,
        level: bool,
        memory: Path | None,
        warn: Callable[[str], object],
    ) -> None:
        self.calibrated, self.calibration_error = False, ""
        self.offsets = Calibration(np.zeros(3), np.zeros(3))
        self._rate, self._time_constant, self._level = rate, time_constant, level
        self._rotation = np.asarray(rotation)
        self._memory, self._warn = memory, warn
        self._lock = threading.Lock()  # guards all attributes below between the two threads
        self._rested = False  # calibrated by this process while the robot stood still
        self._calibrator = RestCalibrator(rate)
        self._wanted: RestCalibrator | None = None  # set while `calibrate` waits for its result
        self._finished = threading.Event()
        self._filter = self._new_filter()
        self._remember()

    def accept(
        self, acceleration: Sequence[float], angular_velocity: Sequence[float], t: float
    ) -> tuple[Vector, Vector, tuple[float, float, float, float]]:
        """Take a sample (chip axes, SI) of time t [s].

        Returns specific force (3,) and angular velocity (3,) without their offsets, and the quaternion (x, y, z, w)
        world <- chip, which is valid only once `calibrated` is true.
        """
        with self._lock:
            self._collect(acceleration, angular_velocity)
            # Plain numbers: numpy takes three times as long for three.
            accel = _less(acceleration, self.offsets.accel)
            gyro = _less(angular_velocity, self.offsets.gyro)
            quaternion = self._filter.update(accel, gyro, t)
            return accel, _less(gyro, self._filter.estimator.bias), quaternion

    def calibrate(self, timeout: float = 3.0) -> str:
        """Find the offsets from the samples of the next second; return the reason of a failure, empty on success."""
        with self._lock:
            self._finished.clear()
            self._wanted = RestCalibrator(self._rate)
        if not self._finished.wait(timeout):
            with self._lock:
                self._wanted = None
            return f"the IMU gave too few samples in {timeout:.0f} s; see /diagnostics"
        return self.calibration_error

    @property
    def filter_name(self) -> str:
        """Which attitude filter is used."""
        return self._filter.estimator.name

    def figures(self) -> dict:
        """Values for the diagnostics, by name with unit."""
        return {
            "attitude filter": self._filter.estimator.name,
            "at rest": self._filter.estimator.at_rest,
            "gyro offset [rad/s]": np.round(self.offsets.gyro, 5).tolist(),
            "accelerometer offset [m/s^2]": np.round(self.offsets.accel, 4).tolist(),
            "residual gyro offset [rad/s]": np.round(self._filter.estimator.bias, 6).tolist(),
        }

    def _new_filter(self) -> OrientationFilter:
        heading = math.atan2(self._rotation[1, 0], self._rotation[0, 0])  # so that the body's yaw starts at zero
        return OrientationFilter(self._rate, self._time_constant, heading)

    def _collect(self, acceleration: npt.ArrayLike, angular_velocity: npt.ArrayLike) -> None:
        calibrator = self._wanted or (None if self._rested else self._calibrator)
        if calibrator is None:
            return
        calibrator.add(acceleration, angular_velocity)
        if not calibrator.done:
            return
        if calibrator is self._wanted:
            self._wanted = None
            self._apply(calibrator, self._level)
            self._finished.set()
        else:
            # The automatic calibration, after the start, once the robot is at rest: gyro only, because the robot's
            # inclination is unknown.
            self._apply(calibrator, level=False)
            calibrator.restart()

    def _apply(self, calibrator: RestCalibrator, level: bool) -> None:
        try:
            found = calibrator.result(self._rotation.T[:, 2] if level else None)
        except DeviceError as error:
            self.calibration_error = str(error)
            return
        if not level:
            found.accel = self.offsets.accel
        self.offsets, self.calibrated, self._rested, self.calibration_error = found, True, True, ""
        self._filter = self._new_filter()
        if self._memory is None:
            return
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            draft = self._memory.with_suffix(".new")
            draft.write_text(
                json.dumps({"time": time.time(), "gyro": found.gyro.tolist(), "accel": found.accel.tolist()}),
                encoding="utf-8",
            )
            draft.replace(self._memory)  # a reader sees either the complete new file or the old one
        except OSError as error:
            self._warn(f"the offsets cannot be stored for a restart: {error}")

    def _remember(self) -> None:
        """Load the offsets of a process that ended recently: this process may start while the robot walks."""
        if self._memory is None:
            return
        try:
            kept = json.loads(self._memory.read_text(encoding="utf-8"))
            if 0.0 <= time.time() - kept["time"] < KEPT_FOR:
                gyro, accel = np.array(kept["gyro"], float), np.array(kept["accel"], float)
                if gyro.shape == accel.shape == (3,) and np.isfinite([gyro, accel]).all():
                    self.offsets, self.calibrated = Calibration(gyro, accel), True
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            self._warn(f"{self._memory} is not used: {error}")
