"""The virtual servo hardware that a simulated robot can have, by the name of its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy.typing as npt

from hexapod_dynamics.devices.board import BoardDevice
from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.mpu6050 import I2cBusDevice, VirtualMpu6050
from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import SPEED_LIMIT, VirtualServos
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.runtime_directory import IMU_BUS, SERVO_BUS

ServoDevice = ServoBusDevice | BoardDevice | RegisterBusDevice
# Servos with registers: the model that is simulated.
_MODELS = {"dynamixel": "ax12", "feetech": "sts3215"}
BUSES = ("lx", "board", *_MODELS)


@dataclass
class Hardware:
    """Servos with their bus, and the bus of the IMU; None if the IMU is behind the servos' board."""

    servos: VirtualServos
    servo_bus: ServoDevice
    i2c: I2cBusDevice | None

    def start(self) -> None:
        """Make the devices, all or none."""
        try:
            self.servo_bus.start()
            if self.i2c is not None:
                self.i2c.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove the devices."""
        self.servo_bus.stop()
        if self.i2c is not None:
            self.i2c.stop()


def make_hardware(
    bus: str,
    ids: Sequence[int],
    directions: Sequence[int],
    angles: npt.ArrayLike,
    sensor: VirtualMpu6050,
    directory: str | Path,
    *,
    speed_limit: float = SPEED_LIMIT,
    loaded: bool = False,
    session: str = "",
) -> Hardware:
    """Make the virtual hardware of a bus, not started; raises HexapodError for an unknown one.

    ids, directions, angles (n,) [rad], speed_limit [rad/s], loaded: see VirtualServos. directory: of the device files.
    """
    if bus not in BUSES:
        raise HexapodError(f"bus: {bus!r} given, allowed are {', '.join(BUSES)}")
    link = Path(directory) / SERVO_BUS
    servos = VirtualServos(ids, directions, angles, speed_limit=speed_limit, loaded=loaded)
    if bus == "board":
        return Hardware(servos, BoardDevice(servos, sensor, link, session=session), None)
    i2c = I2cBusDevice(sensor, Path(directory) / IMU_BUS)
    if bus in _MODELS:
        return Hardware(servos, RegisterBusDevice(servos, _MODELS[bus], link, session=session), i2c)
    return Hardware(servos, ServoBusDevice(servos, link, session=session), i2c)
