"""Attitude from gyro and accelerometer (VQF, Laidig and Seel 2023, or a filter of ours); gyro calibration."""

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

from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.parts import MEAN_FORCE
from hexapod_dynamics.se3 import cross, quaternion_from_rotation, rotation_from_vector, rotation_x_to

_REST_GYRO, _REST_ACCEL = math.radians(2.0), 0.5  # [rad/s], [m/s^2] from their means: the values of VQF
_REST = np.repeat([_REST_GYRO, _REST_ACCEL], 3)
# [rad/s] a second: an MPU6050 drifts by 0.16 deg/s a kelvin at most (datasheet), and warms by less than 7 K a minute; a
# turn of the ground under a robot at rest is faster.
DRIFT = math.radians(0.02)


class ComplementaryFilter:
    """Estimates the attitude world <- chip; yaw is zero at the start.

    period [s] between samples; time_constant [s] of the correction by the accelerometer; bias_limit [rad/s]: bound
    of the estimated gyro bias on each axis. bias (3,) [rad/s] and at_rest are those of the last `update`.
    """

    name = "complementary filter, because vqf is not installed"

    def __init__(self, period: float, time_constant: float, bias_limit: float) -> None:
        self.bias, self.at_rest = np.zeros(3), False
        self._period, self._gain, self._limit = period, 1.0 / time_constant, bias_limit
        self._rotation = np.eye(3)  # world <- chip
        self._age = 0.0  # [s] since the first sample
        self._norm = 0.0  # [m/s^2] mean norm of the specific force
        self._still = 0.0  # [s] without motion
        self._mean = np.zeros(6)  # gyro, accelerometer

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """(w, x, y, z) world <- chip."""
        x, y, z, w = quaternion_from_rotation(self._rotation)
        return w, x, y, z

    def predict(self, gyro: npt.NDArray[np.float64]) -> None:
        """Turn by an angular velocity (3,) [rad/s] for one period, without an accelerometer: R <- R exp(omega dt)."""
        self._rotation = self._rotation @ rotation_from_vector(self._period * (gyro - self.bias))

    def update(self, gyro: npt.NDArray[np.float64], accel: npt.NDArray[np.float64]) -> None:
        """Take a sample: angular velocity (3,) [rad/s] and specific force (3,) [m/s^2]."""
        norm, sample = math.sqrt(float(accel @ accel)), np.concatenate([gyro, accel])
        if norm < 1e-6:  # free fall: there is no direction
            self.predict(gyro)
            return
        up = accel / norm
        if self._age == 0.0:
            # The smallest rotation that takes the measured up to the world's z axis; axes in the order z, x, y.
            self._rotation = np.roll(rotation_x_to(np.roll(up, 1)).T, -1, (0, 1))
            self._norm, self._mean[:] = norm, sample
        self._age += self._period
        # The mean norm, over 10 s, differs from gravity by the accelerometer's offset; a sample that deviates by a
        # quarter from it no longer counts.
        self._norm += (norm - self._norm) * min(1.0, self._period / min(self._age, 10.0))
        weight = max(0.0, 1.0 - abs(norm / self._norm - 1.0) / 0.25)
        gain = weight * max(self._gain, 1.0 / self._age)  # at the start this yields the mean of all samples so far
        error = cross(up, self._rotation[2])
        self.predict(gyro + gain * error)
        self._watch_rest(sample)
        change = np.zeros(3)
        if self.at_rest:  # at first it is the mean of the gyro since then, later it follows within 2 s
            change = max(0.5, 1.0 / (self._still - 1.4)) * (gyro - self.bias)
        elif self._age > 1.0 / self._gain:
            change = -0.25 * weight * self._gain * self._gain * error
        self.bias = np.minimum(np.maximum(self.bias + self._period * change, -self._limit), self._limit)

    def _watch_rest(self, sample: npt.NDArray[np.float64]) -> None:
        """Rest: for 1.5 s gyro and accelerometer stay near to their means over 0.5 s, and the gyro below its limit."""
        self._mean += self._period / 0.5 * (sample - self._mean)
        moved = (np.abs(sample - self._mean) > _REST).any() or np.abs(self._mean[:3]).max() > self._limit + _REST_GYRO
        self._still = 0.0 if moved else self._still + self._period
        self.at_rest = self._still >= 1.5


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

    @bias.setter
    def bias(self, bias: np.ndarray) -> None:
        self._filter.setBiasEstimate(bias, self._filter.getBiasEstimate()[1])

    @property
    def at_rest(self) -> bool:
        """Whether the chip is at rest now."""
        return self._filter.getRestDetected()


AttitudeFilter = VqfFilter | ComplementaryFilter


def make_filter(period: float, time_constant: float, bias_limit: float) -> AttitudeFilter:
    """Return VQF if it is installed, else the complementary filter of this package."""
    try:
        return VqfFilter(period, time_constant, bias_limit)
    except ImportError:
        return ComplementaryFilter(period, time_constant, bias_limit)


class OrientationFilter:
    """Attitude with gyro bias estimation at rest and in motion, updated at a constant rate.

    rate [1/s]. accel_time_constant [s]: of the correction by the accelerometer; larger ones reject the shocks of steps.
    heading [rad]: yaw of the chip at the start.
    make(period [s], time constant [s], bias limit [rad/s]): creates the AttitudeFilter `estimator`.
    """

    def __init__(
        self,
        rate: float,
        accel_time_constant: float = 3.0,
        heading: float = 0.0,
        make: Callable[[float, float, float], AttitudeFilter] = make_filter,
    ) -> None:
        self._period = 1.0 / rate
        # A larger rate than 2 deg/s is a turn and no bias: calibration leaves far less.
        self.estimator = make(self._period, accel_time_constant, math.radians(2.0))
        self._turn = math.cos(0.5 * heading), math.sin(0.5 * heading)
        self._before, self._mean = np.zeros(3), np.zeros(3)  # rate of the last sample; over the last half second
        self._force = STANDARD_GRAVITY  # [m/s^2] mean over the last half second
        self._last: float | None = None  # [s] of the last sample

    def update(
        self, acceleration: npt.ArrayLike, angular_velocity: npt.ArrayLike, t: float
    ) -> tuple[float, float, float, float]:
        """Take one sample (SI, chip axes) at time t [s]; returns the quaternion (x, y, z, w) world <- chip.

        A gap of up to a second is bridged: with the rates at its ends, for 0.05 s each, and the mean rate between. A
        foot's impact of 2 rad/s would else be 60 degrees of tilt after half a second in which a computer was too busy.
        Steps are counted on one grid of time, so that late and then early samples are not integrated twice. A sample
        that comes after a later one is left out. An accelerometer whose mean is far from gravity is shaken or broken:
        it shows no vertical.
        """
        accel, gyro = np.array(acceleration, float), np.array(angular_velocity, float)
        longest, edge = round(1.0 / self._period), round(0.05 / self._period)
        steps = 1 if self._last is None else round((t - self._last) / self._period)
        if self._last is None or abs(steps) > longest:
            self._last, steps = t, min(max(steps, 1), longest)
        else:
            steps = max(steps, 0)
            self._last += steps * self._period
        missed = steps - 1
        for k in range(missed):
            begins, ends = k < min(edge, missed / 2), missed - k <= edge
            self.estimator.predict(self._before if begins else gyro if ends else self._mean)
        if steps > 0:
            self._force += self._period / 0.5 * (math.hypot(*accel.tolist()) - self._force)
            if MEAN_FORCE[0] <= self._force <= MEAN_FORCE[1]:
                self.estimator.update(gyro, accel)
            else:
                self.estimator.predict(gyro)
            self._before = gyro
            self._mean = self._mean + self._period / 0.5 * (gyro - self._mean)
        w, x, y, z = self.estimator.quaternion
        c, s = self._turn
        return c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z


@dataclass
class Calibration:
    """Offsets that are subtracted: gyro (3,) [rad/s] and accelerometer (3,) [m/s^2], chip axes."""

    gyro: np.ndarray
    accel: np.ndarray


# [m/s^2] of an accelerometer: an MPU6050 has up to 1.05 (datasheet), an inclination of 5 degrees adds 0.85.
MOST_OFFSET = 2.0


def compute_offsets(samples: Sequence[Sequence[float]], up: npt.ArrayLike | None = None) -> Calibration:
    """Return the offsets from samples (n, 6), acceleration first; raise DeviceError if the chip moved.

    up (3,): the vertical in chip axes if it is known (the robot stands level); then the offset of the accelerometer
    is computed as well, else it is zero. One larger than any chip has is that of a robot that does not stand level.
    """
    mean, spread = np.mean(samples, axis=0), np.std(samples, axis=0)
    if spread[3:].max() > 0.01 or spread[:3].max() > 0.15:
        raise DeviceError(
            f"not at rest: angular velocity varies by {spread[3:].max():.4f} rad/s (allowed 0.01), "
            f"acceleration by {spread[:3].max():.3f} m/s^2 (allowed 0.15); stand still, try again"
        )
    accel = np.zeros(3) if up is None else mean[:3] - STANDARD_GRAVITY * np.asarray(up, float)
    if (far := float(np.linalg.norm(accel))) > MOST_OFFSET:
        raise DeviceError(
            f"not level: {far:.1f} m/s^2 from what a level robot feels (allowed {MOST_OFFSET}); put it on level "
            "ground; if it stands there, mind the mounting of the IMU (imu in the robot's file)"
        )
    return Calibration(mean[3:], accel)


Vector = tuple[float, float, float]


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
        self._next_shift = -math.inf  # [s] time from which the gyro's offset follows its bias, at rest
        self._samples: list[tuple[float, ...]] = []
        self._asked = False  # `calibrate` waits for its result
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
            quaternion, estimator = self._filter.update(accel, gyro, t), self._filter.estimator
            rate = _less(gyro, estimator.bias)
            if t >= self._next_shift and self.calibrated and estimator.at_rest:  # the bias has a limit, the drift none
                self._next_shift, moved = t + 1.0, np.clip(estimator.bias, -DRIFT, DRIFT)
                self.offsets.gyro, estimator.bias = self.offsets.gyro + moved, estimator.bias - moved
            return accel, rate, quaternion

    def calibrate(self, timeout: float = 3.0) -> str:
        """Find the offsets from the samples of the next second; return the reason of a failure, empty on success."""
        with self._lock:
            self._finished.clear()
            self._asked, self._samples = True, []
        if not self._finished.wait(timeout):
            with self._lock:
                self._asked = False
            return f"the IMU gave too few samples in {timeout:.0f} s; see /diagnostics"
        return self.calibration_error

    @property
    def filter_name(self) -> str:
        """Which attitude filter is used."""
        return self._filter.estimator.name

    def figures(self) -> dict:
        """Values for the diagnostics, by name with unit."""
        estimator = self._filter.estimator
        return {
            "attitude filter": estimator.name,
            "at rest": estimator.at_rest,
            "gyro offset [rad/s]": np.round(self.offsets.gyro, 5).tolist(),
            "accelerometer offset [m/s^2]": np.round(self.offsets.accel, 4).tolist(),
            "residual gyro offset [rad/s]": np.round(estimator.bias, 6).tolist(),
        }

    def _new_filter(self) -> OrientationFilter:
        heading = math.atan2(self._rotation[1, 0], self._rotation[0, 0])  # so that the body's yaw starts at zero
        return OrientationFilter(self._rate, self._time_constant, heading)

    def _collect(self, acceleration: Sequence[float], angular_velocity: Sequence[float]) -> None:
        """Collect the samples of a second, after a request, or after the start until the robot has been at rest."""
        if self._rested and not self._asked:
            return
        self._samples.append((*acceleration, *angular_velocity))
        if len(self._samples) < max(10, round(self._rate)):
            return
        # The automatic calibration is for the gyro only, because the robot's inclination is unknown.
        self._apply(self._level and self._asked)
        self._samples = []
        if self._asked:
            self._asked = False
            self._finished.set()

    def _apply(self, level: bool) -> None:
        try:
            found = compute_offsets(self._samples, self._rotation.T[:, 2] if level else None)
        except DeviceError as error:
            self.calibration_error = str(error)
            return
        if not level:
            found.accel = self.offsets.accel
        self.offsets, self.calibrated, self._rested, self.calibration_error = found, True, True, ""
        self._filter = self._new_filter()
        self.keep()

    def keep(self) -> None:
        """Store the present offsets for a restart; to be called every minute, from any thread."""
        if self._memory is None or not self.calibrated:
            return
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            draft = self._memory.with_suffix(f".{threading.get_ident()}")
            values = {name: offset.tolist() for name, offset in vars(self.offsets).items()}
            draft.write_text(json.dumps(values), encoding="utf-8")
            draft.replace(self._memory)  # a reader sees either the complete new file or the old one
        except OSError as error:
            self._warn(f"the offsets cannot be stored for a restart: {error}")

    def _remember(self) -> None:
        """Load the offsets of a process that ended recently: this process may start while the robot walks."""
        if self._memory is None:
            return
        try:
            kept = json.loads(self._memory.read_text(encoding="utf-8"))
            if 0.0 <= time.time() - self._memory.stat().st_mtime < 600.0:
                gyro, accel = np.array(kept["gyro"], float), np.array(kept["accel"], float)
                if gyro.shape == accel.shape == (3,) and np.isfinite([gyro, accel]).all():
                    self.offsets, self.calibrated = Calibration(gyro, accel), True
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            self._warn(f"{self._memory} is not used: {error}")
