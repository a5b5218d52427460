"""From what the IMU's chip reports to what is meant: offsets found at rest and kept for a restart, and the attitude."""

import json
import math
import threading
import time
from pathlib import Path

import numpy as np

from hexapod_dynamics.drivers.orientation import Calibration, OrientationFilter, RestCalibrator
from hexapod_dynamics.errors import DeviceError

KEPT_FOR = 600.0        # [s] offsets of a process that ended outlive it this long


class CalibratedImu:
    """Fed by the reader's thread (`take`), asked by others.

    rate [1/s]; rotation (3, 3) body <- chip; time_constant [s] of the inclination; level: at `calibrate` the body
    stands level, so that the accelerometer's offset is found too; memory: file that keeps the offsets; warn(text).
    """

    def __init__(self, rate: float, rotation, time_constant: float, level: bool, memory: Path, warn):
        self.calibrated, self.refusal = False, ''
        self.offsets = Calibration(np.zeros(3), np.zeros(3))
        self._rate, self._time_constant, self._level = rate, time_constant, level
        self._rotation = np.asarray(rotation)
        self._memory, self._warn = memory, warn
        self._lock = threading.Lock()               # guards all below between the two threads
        self._rested = False                        # calibrated by this process, standing still
        self._calibrator = RestCalibrator(rate)
        self._wanted = None                         # calibrator of somebody who waits
        self._finished = threading.Event()
        self._filter = self._new_filter()
        self._remember()

    def take(self, acceleration, angular_velocity, t: float):
        """Take a sample (chip axes, SI) of time t [s].

        Returns specific force (3,) and angular velocity (3,) without their offsets, and the quaternion (x, y, z, w)
        world <- chip, which is worth nothing until `calibrated`.
        """
        with self._lock:
            self._collect(acceleration, angular_velocity)
            accel, gyro = acceleration - self.offsets.accel, angular_velocity - self.offsets.gyro
            quaternion = self._filter.update(accel, gyro, t)
            return accel, gyro - self._filter.bias, quaternion

    def calibrate(self, timeout: float = 3.0) -> str:
        """Find the offsets from the next second's samples; returns why not, or nothing."""
        with self._lock:
            self._finished.clear()
            self._wanted = RestCalibrator(self._rate)
        if not self._finished.wait(timeout):
            with self._lock:
                self._wanted = None
            return f'the IMU gave too few samples in {timeout:.0f} s; see /diagnostics'
        return self.refusal

    def figures(self) -> dict:
        """What there is to show, by name with its unit."""
        return {'at rest': self._filter.at_rest,
                'gyro offset [rad/s]': np.round(self.offsets.gyro, 5).tolist(),
                'accelerometer offset [m/s^2]': np.round(self.offsets.accel, 4).tolist(),
                'residual gyro offset [rad/s]': np.round(self._filter.bias, 6).tolist()}

    def _new_filter(self) -> OrientationFilter:
        heading = math.atan2(self._rotation[1, 0], self._rotation[0, 0])    # so that the body's yaw starts at zero
        return OrientationFilter(self._rate, self._time_constant, heading)

    def _collect(self, acceleration, angular_velocity) -> None:
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
            # By itself, at the start: as soon as the robot stands still, gyro only (who knows how it stands).
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
        self.offsets, self.calibrated, self._rested, self.refusal = found, True, True, ''
        self._filter = self._new_filter()
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(json.dumps({'time': time.time(), 'gyro': found.gyro.tolist(),
                                                'accel': found.accel.tolist()}), encoding='utf-8')
        except OSError as error:
            self._warn(f'the offsets cannot be kept for a restart: {error}')

    def _remember(self) -> None:
        """Take the offsets of a process that ended a little while ago: this one may start while the robot walks."""
        try:
            kept = json.loads(self._memory.read_text(encoding='utf-8'))
            if 0.0 <= time.time() - kept['time'] < KEPT_FOR:
                gyro, accel = np.array(kept['gyro'], float), np.array(kept['accel'], float)
                if gyro.shape == accel.shape == (3,) and np.isfinite([gyro, accel]).all():
                    self.offsets, self.calibrated = Calibration(gyro, accel), True
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._warn(f'{self._memory} is not used: {error}')
