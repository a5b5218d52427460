"""Faults of the simulated devices, by name; several are set at once, all or none.

The names are parameters of the simulator node (`ros2 param set /simulator faults.bus.drop_rate 0.01`), and its launch
argument takes them as `faults:=bus.drop_rate=0.01,imu.error_rate=0.01`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hexapod_dynamics.devices.board import BoardDevice
from hexapod_dynamics.drivers.imu import mpu6050 as chip
from hexapod_dynamics.errors import DeviceError

if TYPE_CHECKING:
    from hexapod_dynamics.devices.hardware import ServoDevice
    from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050

Value = bool | int | float | str


@dataclass(frozen=True)
class Fault:
    """One named fault: its value on a healthy device, its description and its range."""

    healthy: Value
    description: str
    low: float | None = None
    high: float | None = None


FAULTS = {
    "bus.drop_rate": Fault(0.0, "share of bytes lost on the servo bus, both ways", 0.0, 1.0),
    "bus.flip_rate": Fault(0.0, "share of bytes with one bit flipped", 0.0, 1.0),
    "bus.insert_rate": Fault(0.0, "share of bytes with a random byte before them", 0.0, 1.0),
    "bus.late_rate": Fault(0.0, "share of answers that come late", 0.0, 1.0),
    "bus.late_delay": Fault(0.01, "how late those are [s]", 0.0, 1.0),
    "bus.echo": Fault(False, "the host receives what it sends"),
    "bus.unplugged": Fault(False, "the serial adapter is pulled out"),
    "servo.silent": Fault("", "joints whose servos neither receive nor answer, separated by blanks"),
    "servo.duplicate": Fault("", 'two joints, "a b": the servo of a has the id of b'),
    "servo.hot": Fault("", "joints whose servos are too hot and exert no torque"),
    "servo.power": Fault(True, "supply of all servos; off: no torque and no answers; on again: reset"),
    "battery.voltage": Fault(11.8, "supply of all servos [V]; below 9 (feetech: 4) no torque", 0.0, 14.0),
    "board.refuse_rate": Fault(0.0, "share of the answers of an STM32 board that report a failure", 0.0, 1.0),
    "board.mute": Fault(False, "the STM32 board neither hears nor speaks"),
    "board.reset": Fault(False, "set to true: the STM32 board restarts once, as its RTS line does"),
    "imu.error_rate": Fault(0.0, "share of I2C exchanges that fail with errno 5, 110 or 121", 0.0, 1.0),
    "imu.locked": Fault(False, "the I2C data line is held low"),
    "imu.absent": Fault(False, "the chip does not answer"),
    "imu.brown_out": Fault(False, "set to true: the chip goes to sleep once, with frozen data"),
    "imu.identity": Fault(chip.GENUINE_IDENTITY, "value of WHO_AM_I; 104 is the genuine chip", 0, 255),
    "imu.drift": Fault(0.0, "drift of the gyro offset on all axes [rad/s^2]", -0.1, 0.1),
    "imu.shake": Fault(0.0, "specific force added on all axes [m/s^2]; 80 saturates a range of 4 g", 0.0, 200.0),
}


def parse(text: str) -> dict[str, Value]:
    """Return the values in "name=value,name=value", each with the type of its fault; DeviceError names the bad part."""
    values: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        fault = _find_fault(name)
        if not equals:
            raise DeviceError(f"{part!r}: write name=value, as {name}={fault.healthy}")
        try:
            if isinstance(fault.healthy, bool):
                values[name] = {"true": True, "1": True, "false": False, "0": False}[value.lower()]
            else:
                values[name] = type(fault.healthy)(value)
        except (KeyError, ValueError):
            raise DeviceError(
                f"{name}: {value!r} given, a {type(fault.healthy).__name__} as {fault.healthy!r} is needed"
            ) from None
    return values


def check_faults(values: Mapping[str, object], joints: Sequence[str], *, board: bool) -> None:
    """Raise DeviceError if a name is unknown or a value is of the wrong type or out of range.

    joints: names of the simulated robot's joints; board: whether it has an STM32 board.
    """
    for name, value in values.items():
        fault = _find_fault(name)
        if name.startswith("board.") and not board and value != fault.healthy:
            raise DeviceError(f"{name}: this simulated robot has no STM32 board (launch argument bus:=board)")
        if fault.low is not None and fault.high is not None:
            number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else value
            if not fault.low <= number <= fault.high:  # NaN is in no range
                raise DeviceError(f"{name}: {value!r} given, a number {fault.low}..{fault.high} is needed")
        elif not isinstance(value, type(fault.healthy)):
            raise DeviceError(f"{name}: {value!r} given, a {type(fault.healthy).__name__} is needed")
        elif isinstance(value, str):
            named = value.split()
            if not set(named) <= set(joints):
                raise DeviceError(f"{name}: {value!r} names an unknown joint; the robot has {', '.join(joints)}")
            if name == "servo.duplicate" and len(named) not in (0, 2):
                raise DeviceError(f"{name}: {value!r} given, two joints are needed")


def _find_fault(name: str) -> Fault:
    if name not in FAULTS:
        raise DeviceError(f"{name!r} is not a fault; the faults are {', '.join(FAULTS)}")
    return FAULTS[name]


class FaultInjector:
    """Applies faults to the servo bus and the IMU of one simulated robot with these joint names."""

    def __init__(self, joint_names: Sequence[str], servo_bus: ServoDevice, sensor: VirtualMpu6050) -> None:
        self._joints = list(joint_names)
        self._bus, self._servos, self._sensor = servo_bus, servo_bus.servos, sensor
        self._ids = self._servos.ids.copy()
        self._temperature = float(self._servos.temperature[0])
        self._values: dict[str, Any] = {name: fault.healthy for name, fault in FAULTS.items()}

    @property
    def active(self) -> list[str]:
        """Names of the faults that are active now."""
        return [name for name, fault in FAULTS.items() if self._values[name] != fault.healthy]

    def _indices(self, name: str) -> list[int]:
        return [self._joints.index(joint) for joint in self._values[name].split()]

    def set(self, values: Mapping[str, object]) -> None:
        """Set the named faults, all or none (DeviceError); the others keep their values."""
        check_faults(values, self._joints, board=isinstance(self._bus, BoardDevice))
        before, self._values = self._values, self._values | dict(values)
        changed = {name for name, value in self._values.items() if value != before[name]}
        for name in changed:
            part, _, field = name.partition(".")
            faults = {"bus": self._bus.faults, "imu": self._sensor.faults}.get(part)
            if faults is not None and hasattr(faults, field):  # a fault of the line, or of the exchanges with the chip
                setattr(faults, field, self._values[name])
        if "bus.unplugged" in changed:
            (self._bus.unplug if self._values["bus.unplugged"] else self._bus.plug_in)()
        if any(name.startswith(("servo.", "battery.")) for name in changed):
            self._change_servos(changed)
        if isinstance(self._bus, BoardDevice):
            self._bus.refuse_rate, self._bus.mute = self._values["board.refuse_rate"], self._values["board.mute"]
            if "board.reset" in changed and self._values["board.reset"]:
                self._bus.reset()
        if "imu.brown_out" in changed and self._values["imu.brown_out"]:
            self._sensor.brown_out()
        if "imu.identity" in changed:
            self._sensor.set_identity(int(self._values["imu.identity"]))
        self._sensor.drift[:] = self._values["imu.drift"]
        self._sensor.shake = self._values["imu.shake"]

    def _change_servos(self, changed: Set[str]) -> None:
        servos, values = self._servos, self._values
        with servos.lock:
            servos.ids[:] = self._ids
            pair = self._indices("servo.duplicate")
            if pair:
                servos.ids[pair[0]] = self._ids[pair[1]]
            servos.temperature[:] = self._temperature
            servos.temperature[self._indices("servo.hot")] = 95.0
            servos.voltage[:] = values["battery.voltage"] if values["servo.power"] else 0.0
            if "servo.power" in changed and values["servo.power"]:
                servos.power_cycle(time.monotonic())
        mute = self._ids[self._indices("servo.silent")] if values["servo.power"] else self._ids
        self._bus.faults.silent = set(mute.tolist())
