"""The virtual servo hardware that a simulated robot can have, by the name of its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy.typing as npt

from hexapod_dynamics.devices.board import BoardDevice
from hexapod_dynamics.devices.faults import FaultInjector
from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.mpu6050 import I2cBusDevice, VirtualMpu6050
from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import SPEED_LIMIT, VirtualServos
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.runtime_directory import IMU_BUS, SERVO_BUS

ServoDevice = ServoBusDevice | BoardDevice | RegisterBusDevice
# Servos with registers: the model that is simulated.
_MODELS = {"dynamixel": "ax12", "feetech": "sts3215"}
BUSES = ("lx", "board", *_MODELS)


class RobotHardware(Worker):
    """The servos of a robot on their bus, and its IMU, as virtual hardware; a subclass moves the shafts in its thread.

    angles (n,) [rad], directions (by default the robot's), speed_limit [rad/s], loaded: see VirtualServos. directory:
    of the device files; session: as in SerialDevice. bus: which servo hardware, one of BUSES. i2c: the bus of the IMU,
    None if the IMU is behind the servos' board. Raises HexapodError for an unknown bus.
    """

    def __init__(
        self,
        thread: str,
        robot: Robot,
        angles: npt.ArrayLike,
        directory: str | Path,
        *,
        bus: str = "lx",
        sensor: VirtualMpu6050 | None = None,
        directions: Sequence[int] | None = None,
        speed_limit: float = SPEED_LIMIT,
        loaded: bool = True,
        session: str = "",
    ) -> None:
        if bus not in BUSES:
            raise HexapodError(f"bus: {bus!r} given, allowed are {', '.join(BUSES)}")
        super().__init__(thread)
        servo_map, link = ServoMap.from_robot(robot), Path(directory) / SERVO_BUS
        self.robot, self.sensor = robot, sensor or VirtualMpu6050()
        self.servos = servos = VirtualServos(
            servo_map.ids, directions or servo_map.directions, angles, speed_limit=speed_limit, loaded=loaded
        )
        self.servo_bus: ServoDevice
        if bus == "board":
            self.servo_bus = BoardDevice(servos, self.sensor, link, session=session)
        elif bus in _MODELS:
            self.servo_bus = RegisterBusDevice(servos, _MODELS[bus], link, session=session)
        else:
            self.servo_bus = ServoBusDevice(servos, link, session=session)
        self.i2c = None if bus == "board" else I2cBusDevice(self.sensor, Path(directory) / IMU_BUS)
        self.faults = FaultInjector(robot.joint_names, self.servo_bus, self.sensor)

    def start_devices(self) -> None:
        """Make the devices, all or none."""
        try:
            self.servo_bus.start()
            if self.i2c is not None:
                self.i2c.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the thread and remove the devices."""
        super().stop()
        self.servo_bus.stop()
        if self.i2c is not None:
            self.i2c.stop()
