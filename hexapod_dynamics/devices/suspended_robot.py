"""A simulated robot that hangs with its feet in the air, on simulated devices: joints follow their servos at once.

A joint may be mounted the wrong way round, the IMU in any attitude, so that checks of a robot can be rehearsed.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.devices.hardware import RobotHardware
from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_rpy


class SuspendedRobot(RobotHardware):
    """Servo bus and IMU of a suspended robot, served by threads from `start` to `stop`.

    directory: of the device files. turned_round: joints whose servo is mounted the other way round. imu_rotation (3, 3)
    body <- chip, if it differs from the robot's description. loaded: whether the servos exert torque from the
    start. bus: which servo hardware, one of `hardware.BUSES`.
    """

    def __init__(
        self,
        robot: Robot,
        directory: str | Path,
        *,
        turned_round: Collection[str] = (),
        imu_rotation: npt.ArrayLike | None = None,
        loaded: bool = False,
        bus: str = "lx",
    ) -> None:
        self.joints, described = list(robot.joint_names), ServoMap.from_robot(robot).directions
        truly = [-d if name in turned_round else d for name, d in zip(self.joints, described, strict=True)]
        angles = np.full(len(truly), 0.1)
        super().__init__("suspended_robot", robot, angles, directory, bus=bus, directions=truly, loaded=loaded)
        self.blocked: set[str] = set()  # joints that cannot move
        # Of the nodes that talk to the devices: what differs from the defaults.
        self.parameters: dict[str, dict[str, object]] = {
            "servos": {"port": str(self.servo_bus.link), "baudrate": self.servo_bus.baudrate, "protocol": bus},
            "imu": {"source": "board"} if self.i2c is None else {"bus": str(self.i2c.path)},
        }
        self._chip = np.asarray(robot.imu.rotation if imu_rotation is None else imu_rotation, float)
        self._up = np.array([0.0, 0.0, 1.0])  # in base_link

    def start(self) -> None:
        """Make the devices and serve them."""
        self.start_devices()
        super().start()

    @property
    def angles(self) -> np.ndarray:
        """True joint angles (n,) [rad]."""
        return self.servos.setpoints(time.monotonic())

    def tilt(self, roll: float, pitch: float) -> None:
        """Hold the body with roll and pitch [rad]."""
        self._up = rotation_rpy(roll, pitch, 0.0)[2]

    def _run(self) -> None:
        here = self.angles
        while not self._stopping:
            self._wake.wait(0.005)
            now = time.monotonic()
            wanted = self.servos.setpoints(now)
            stuck = np.array([name in self.blocked for name in self.joints])
            here = np.where(stuck, here, wanted)
            self.servos.set_angles(here)
            self.sensor.set_motion(self._chip.T @ (STANDARD_GRAVITY * self._up), np.zeros(3), now)
