"""The commands of the LX/HTD bus servo protocol with their units; `lx.frames` builds the frames.

Angles are radians from the servo's centre (count 500), positive with rising counts;
`hexapod_dynamics.drivers.servos.servo_map` defines which direction of a joint is positive. Times are seconds,
voltages volts, temperatures deg C.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from enum import IntFlag
from typing import Any, NamedTuple

from hexapod_dynamics.drivers.servos.lx.frames import BROADCAST_ID, READS, REPLY, REQUEST, Command, build, reply
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_counts import BUS_SERVO, CENTRE_COUNT, COUNTS_PER_RADIAN, MAX_COUNT

MAX_MOVE_TIME = 30.0  # [s]
angle_from_count = BUS_SERVO.angle


class LedError(IntFlag):
    """Which faults blink the LED (a mask of what is shown, not a fault word)."""

    OVER_TEMPERATURE = 1
    OVER_VOLTAGE = 2
    LOCKED_ROTOR = 4


class Move(NamedTuple):
    """A commanded motion: angle [rad] from the centre and duration [s]."""

    angle: float
    duration: float


class Mode(NamedTuple):
    """Servo or motor mode; `speed` is the motor's duty in -1..1 (0 in servo mode)."""

    motor: bool
    speed: float


def count_from_angle(angle: float) -> int:
    """Nearest commandable count (0..1000) of an angle [rad] from the centre; raises beyond the travel."""
    if not math.isfinite(angle):
        raise DeviceError(f"servo angle {angle} rad is not finite")
    count = BUS_SERVO.count(angle)
    if not 0 <= count <= MAX_COUNT:
        raise DeviceError(
            f"servo angle {angle:.4f} rad is outside +-{CENTRE_COUNT / COUNTS_PER_RADIAN:.4f} rad "
            "(+-120 deg) from the centre"
        )
    return count


def _milliseconds(duration: float) -> int:
    if not 0.0 <= duration <= MAX_MOVE_TIME:
        raise DeviceError(f"move time {duration} s is outside 0..{MAX_MOVE_TIME} s")
    return math.floor(duration * 1000.0 + 0.5)


def _pack(servo_id: int, command: Command, *values: int) -> bytes:
    try:
        payload = REQUEST[command].pack(*values) if values else b""
    except struct.error as error:
        raise DeviceError(f"{command.name}{values}: {error}") from error
    return build(servo_id, command, payload)


def move_time(servo_id: int, angle: float, duration: float) -> bytes:
    """Move now: uniform speed from where the servo is to `angle` [rad] in `duration` [s] (0 = full speed)."""
    return _pack(servo_id, Command.MOVE_TIME_WRITE, count_from_angle(angle), _milliseconds(duration))


def move_time_wait(servo_id: int, angle: float, duration: float) -> bytes:
    """Latch a move (angle [rad], duration [s]) that starts with MOVE_START."""
    return _pack(servo_id, Command.MOVE_TIME_WAIT_WRITE, count_from_angle(angle), _milliseconds(duration))


def move_start(servo_id: int = BROADCAST_ID) -> bytes:
    """Start the latched move of one servo, or of all at once (default)."""
    return _pack(servo_id, Command.MOVE_START)


def move_stop(servo_id: int) -> bytes:
    """Stop the motion and hold the position."""
    return _pack(servo_id, Command.MOVE_STOP)


def id_write(servo_id: int, new_id: int) -> bytes:
    """Give one servo a new id (saved at once, to flash); connect ONE servo only."""
    if not 0 <= new_id < BROADCAST_ID:
        raise DeviceError(f"new servo id {new_id} is outside 0..253")
    return _pack(servo_id, Command.ID_WRITE, new_id)


def offset_count(angle: float) -> int:
    """Deviation count (-125..125) of an angle [rad]; raises beyond +-30 deg."""
    count = math.floor(angle * COUNTS_PER_RADIAN + 0.5)
    if not -125 <= count <= 125:
        raise DeviceError(f"deviation {angle:.4f} rad is outside +-0.5236 rad (+-30 deg)")
    return count


def angle_offset_adjust(servo_id: int, angle: float) -> bytes:
    """Set the deviation [rad]; moves at once and is lost at power-off unless written."""
    return _pack(servo_id, Command.ANGLE_OFFSET_ADJUST, offset_count(angle))


def angle_offset_write(servo_id: int) -> bytes:
    """Save the deviation to flash."""
    return _pack(servo_id, Command.ANGLE_OFFSET_WRITE)


def load_write(servo_id: int, on: bool) -> bytes:
    """Switch torque on (hold) or off."""
    return _pack(servo_id, Command.LOAD_OR_UNLOAD_WRITE, int(on))


@functools.lru_cache(maxsize=1024)
def read_request(servo_id: int, command: int) -> bytes:
    """The 6-byte request of a READ command."""
    if command not in READS:
        raise DeviceError(
            f"{Command(command).name} is not a read; reads are {', '.join(Command(c).name for c in sorted(READS))}"
        )
    if servo_id == BROADCAST_ID and command != Command.ID_READ:
        raise DeviceError(f"{Command(command).name} needs one servo id: only ID_READ is answered at 254")
    return build(servo_id, command)


_DECODERS: dict[int, Callable[..., Any]] = {
    Command.MOVE_TIME_READ: lambda count, duration: Move(angle_from_count(count), duration / 1000.0),
    Command.MOVE_TIME_WAIT_READ: lambda count, duration: Move(angle_from_count(count), duration / 1000.0),
    Command.POS_READ: angle_from_count,
    Command.VIN_READ: lambda millivolts: millivolts / 1000.0,
    Command.ANGLE_OFFSET_READ: lambda count: count / COUNTS_PER_RADIAN,
    Command.ANGLE_LIMIT_READ: lambda low, high: (angle_from_count(low), angle_from_count(high)),
    Command.VIN_LIMIT_READ: lambda low, high: (low / 1000.0, high / 1000.0),
    Command.OR_MOTOR_MODE_READ: lambda motor, _, speed: Mode(bool(motor), speed / 1000.0),
    Command.LOAD_OR_UNLOAD_READ: bool,
    Command.LED_CTRL_READ: lambda off: not off,
    Command.LED_ERROR_READ: lambda mask: LedError(mask & 7),
    Command.ID_READ: int,
    Command.TEMP_READ: int,  # [deg C]
    Command.TEMP_MAX_LIMIT_READ: int,
}


def decode(command: int, payload: bytes) -> Any:
    """Turn a reply's payload into its value with units (see the write of the same name)."""
    return _DECODERS[command](*REPLY[command].unpack(payload))


def encode_reply(servo_id: int, command: int, *values: int) -> bytes:
    """Build a servo's answer from raw integers (simulated servos and tests)."""
    return reply(servo_id, command, REPLY[command].pack(*values))
