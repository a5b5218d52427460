"""The IMU of a simulated robot as the nodes have it: the simulated chip, its driver and the attitude filter.

Its offsets are calibrated away but for what the noise of the gyroscope leaves: the mean of CALIBRATED samples.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.drivers.imu.attitude import OrientationFilter
from hexapod_dynamics.drivers.imu.mpu6050 import MPU6050, Mpu6050, Mpu6050Settings, SocketSMBus
from hexapod_dynamics.se3 import rotation_from_quaternion

CALIBRATED = 100
SETTLING = 1.0  # how long the chip has felt the simulator's state before t = 0 [s]


class DirectI2cBus(SocketSMBus):
    """The calls of smbus2 straight into the simulated chip; `now` [s] is its clock, `log` its last exchanges."""

    def __init__(self, sensor: VirtualMpu6050) -> None:
        self.sensor, self.now = sensor, 0.0
        self.log: deque[tuple] = deque(maxlen=100)

    def sleep(self, seconds: float) -> None:
        """Let the clock go on."""
        self.now += seconds

    def read_byte_data(self, i2c_addr: int, register: int) -> int:
        """Read one register."""
        self.log.append(("read", register))
        return self.sensor.read(register, 1, self.now)[0]

    def write_byte_data(self, i2c_addr: int, register: int, value: int) -> None:
        """Write one register."""
        self.log.append(("write", register, value))
        self.sensor.write(register, value)

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]:
        """Read bytes, starting at a register."""
        self.log.append(("block", register, length))
        return list(self.sensor.read(register, length, self.now))

    def close(self) -> None:
        """There is nothing to close."""


class SensedImu:
    """Attitudes of a simulated robot from its calibrated IMU, with the settings that the nodes have by default.

    simulator: a RobotSimulator. rotation (3, 3): base_link <- chip. seed: of the noise. known: the rotation that the
    software has, by default the same.
    """

    def __init__(self, simulator: Any, rotation: np.ndarray, *, seed: int = 0, known: np.ndarray | None = None) -> None:
        settings = Mpu6050Settings()
        self.delay = MPU6050.delay(settings.dlpf)  # [s] by which the nodes stamp a sample earlier than it was read
        self._simulator, self._chip = simulator, np.asarray(rotation)
        self._known = self._chip if known is None else known
        left = np.random.default_rng(seed).normal(0.0, np.sqrt(MPU6050.gyro_variance(settings.dlpf) / CALIBRATED), 3)
        self._sensor = VirtualMpu6050(gyro_bias=left, accel_bias=np.zeros(3), seed=seed)
        self._bus = DirectI2cBus(self._sensor)
        self._driver = Mpu6050(self._bus, settings, sleep=self._bus.sleep)
        self._driver.start()
        self._filter = OrientationFilter(settings.rate)
        self._woken = self._bus.now + SETTLING
        self.acceleration = self.rate = [0.0, 0.0, 0.0]
        for t in (-SETTLING, 0.0):
            self.follow(t)

    def follow(self, t: float) -> None:
        """Let the chip feel the simulator's last call of `step`, which ended at t [s]."""
        force, rate = self._simulator.specific_force, self._simulator.mean_angular_velocity
        self._bus.now = self._woken + t
        self._sensor.set_motion(force @ self._chip, rate @ self._chip, self._bus.now)

    def attitude(self, t: float) -> np.ndarray:
        """Read the chip at t [s]; returns the attitude (3, 3) world <- base_link. `acceleration` and `rate` (3,) are
        of the same sample, in axes of base_link.
        """
        sample = self._driver.read()
        self.acceleration = (self._known @ sample.acceleration).tolist()
        self.rate = (self._known @ sample.angular_velocity).tolist()
        quaternion = self._filter.update(sample.acceleration, sample.angular_velocity, t)
        return rotation_from_quaternion(quaternion) @ self._known.T
