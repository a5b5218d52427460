"""Calibrated IMU data and attitude; the offsets are found at rest and stored for a restart of the process."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.imu.orientation import Calibration, OrientationFilter, RestCalibrator
from hexapod_dynamics.errors import DeviceError

Vector = tuple[float, float, float]
KEPT_FOR = 600.0  # [s] stored offsets are used again if the process restarts within this time


def _less(vector: Sequence[float], offset: np.ndarray) -> Vector:
    """Return vector - offset."""
    (x, y, z), (a, b, c) = vector, offset.tolist()
    return x - a, y - b, z - c


class CalibratedImu:
    """Subtracts offsets from samples and estimates the attitude; the reader thread calls `take`, others the rest.

    rate [1/s]; rotation (3, 3) body <- chip; time_constant [s] of the inclination; level: the body stands level at
    `calibrate`, so that the offset of the accelerometer is found too; memory: file that stores the offsets; warn(text).
    """

    def __init__(
        self,
        rate: float,
        rotation: npt.ArrayLike,
        time_constant: float,
        level: bool,
        memory: Path,
        warn: Callable[[str], object],
    ) -> None:
        self.calibrated, self.refusal = False, ""
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

    def take(
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
            return accel, _less(gyro, self._filter.bias), quaternion

    def calibrate(self, timeout: float = 3.0) -> str:
        """Find the offsets from the samples of the next second; return the reason of a failure, empty on success."""
        with self._lock:
            self._finished.clear()
            self._wanted = RestCalibrator(self._rate)
        if not self._finished.wait(timeout):
            with self._lock:
                self._wanted = None
            return f"the IMU gave too few samples in {timeout:.0f} s; see /diagnostics"
        return self.refusal

    @property
    def filter_name(self) -> str:
        """Which attitude filter is used."""
        return self._filter.name

    def figures(self) -> dict:
        """Values for the diagnostics, by name with unit."""
        return {
            "attitude filter": self._filter.name,
            "at rest": self._filter.at_rest,
            "gyro offset [rad/s]": np.round(self.offsets.gyro, 5).tolist(),
            "accelerometer offset [m/s^2]": np.round(self.offsets.accel, 4).tolist(),
            "residual gyro offset [rad/s]": np.round(self._filter.bias, 6).tolist(),
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
            self.refusal = str(error)
            return
        if not level:
            found.accel = self.offsets.accel
        self.offsets, self.calibrated, self._rested, self.refusal = found, True, True, ""
        self._filter = self._new_filter()
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
