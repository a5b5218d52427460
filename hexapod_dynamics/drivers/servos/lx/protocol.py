"""The LX/HTD bus servo protocol: the commands with their units, one frame, frames among garbage, a whole pose.

A frame is ``55 55 id length command parameters checksum`` with ``length = 3 + len(parameters)`` and
``checksum = ~(id + length + command + sum(parameters)) & 0xFF``; multi-byte values are little endian
(Hiwonder Bus Servo Communication Protocol). Writes are never acknowledged. Angles are radians from the servo's centre
(count 500), positive with rising counts; `servo_map` defines which direction of a joint is positive. Times are seconds,
voltages volts, temperatures deg C.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Iterable
from enum import IntEnum, IntFlag
from typing import NamedTuple

from hexapod_dynamics.drivers.frame_finder import FrameFinder
from hexapod_dynamics.drivers.servos.interface import Quantity
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import BUS_SERVO

BROADCAST_ID = 254  # addresses all servos
HEADER = b"\x55\x55"
DEFAULT_BAUDRATE = 115200  # of every LX and HTD servo; it cannot be changed
MOVE_SIZE = 10  # bytes of a move's frame


class Command(IntEnum):
    """Command codes; a READ's reply carries the same code."""

    MOVE_TIME_WRITE = 1
    MOVE_TIME_READ = 2
    MOVE_TIME_WAIT_WRITE = 7
    MOVE_TIME_WAIT_READ = 8
    MOVE_START = 11
    MOVE_STOP = 12
    ID_WRITE = 13
    ID_READ = 14
    ANGLE_OFFSET_ADJUST = 17
    ANGLE_OFFSET_WRITE = 18
    ANGLE_OFFSET_READ = 19
    ANGLE_LIMIT_WRITE = 20
    ANGLE_LIMIT_READ = 21
    VIN_LIMIT_WRITE = 22
    VIN_LIMIT_READ = 23
    TEMP_MAX_LIMIT_WRITE = 24
    TEMP_MAX_LIMIT_READ = 25
    TEMP_READ = 26
    VIN_READ = 27
    POS_READ = 28
    OR_MOTOR_MODE_WRITE = 29
    OR_MOTOR_MODE_READ = 30
    LOAD_OR_UNLOAD_WRITE = 31
    LOAD_OR_UNLOAD_READ = 32
    LED_CTRL_WRITE = 33
    LED_CTRL_READ = 34
    LED_ERROR_WRITE = 35
    LED_ERROR_READ = 36


# Commands that write identity, trim or protection limits: sent to all by mistake, one changes every servo.
NEVER_BROADCAST = frozenset(
    {
        Command.ID_WRITE,
        Command.ANGLE_OFFSET_ADJUST,
        Command.ANGLE_OFFSET_WRITE,
        Command.ANGLE_LIMIT_WRITE,
        Command.VIN_LIMIT_WRITE,
        Command.TEMP_MAX_LIMIT_WRITE,
    }
)


class Frame(NamedTuple):
    """One frame as found on the wire; `behind`: number of bytes received behind it in the same chunk."""

    servo_id: int
    command: int
    payload: bytes
    behind: int = 0


def checksum(body: bytes) -> int:
    """Return the checksum over id, length, command and parameters (header left out)."""
    return ~sum(body) & 0xFF


def frame(servo_id: int, command: int, payload: bytes) -> bytes:
    """Build a frame without checks, of a servo or of this computer."""
    body = bytes((servo_id, 3 + len(payload), command)) + payload
    return HEADER + body + bytes((checksum(body),))


def build(servo_id: int, command: int, payload: bytes = b"") -> bytes:
    """Build one frame from raw payload bytes; raise DeviceError for a frame that must not be sent."""
    command = Command(command)
    if not 0 <= servo_id <= BROADCAST_ID:
        raise DeviceError(f"servo id {servo_id} is outside 0..253 (254 = all); check the robot file")
    if servo_id == BROADCAST_ID and command in NEVER_BROADCAST:
        raise DeviceError(
            f"{command.name} to the broadcast id 254 would rewrite every servo on the bus: "
            "connect one servo and name its id"
        )
    expected = REQUEST[command].size if command in REQUEST else 0
    if len(payload) != expected:
        raise DeviceError(f"{command.name} takes {expected} parameter bytes, {len(payload)} were given")
    return frame(servo_id, command, payload)


def reply_size(command: int) -> int:
    """Length in bytes of the whole reply frame to a READ command."""
    return 6 + REPLY[command].size


def reply_begin(servo_id: int, command: int) -> bytes:
    """Return header, id, length and command of the reply frame to a READ command."""
    return bytes((0x55, 0x55, servo_id, 3 + REPLY[command].size, command))


class FrameParser(FrameFinder):
    """Finds LX frames."""

    header, shortest = HEADER, 6

    def size(self, held: bytearray) -> int:
        """Size of the frame that begins with these bytes; 0 if they are no frame."""
        return held[3] + 3 if 3 <= held[3] <= 7 else 0  # the lengths of all commands

    def is_intact(self, frame: bytes) -> bool:
        """Whether the checksum is right."""
        return checksum(frame[2:-1]) == frame[-1]

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that are complete now, in order."""
        return [Frame(frame[2], frame[4], frame[5:-1], behind) for frame, behind in self.find(data)]


MAX_MOVE_TIME = 30.0  # [s]
angle_from_count, count_from_angle = BUS_SERVO.angle, BUS_SERVO.setpoint


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


# Layout of the reply to each READ command, and how its numbers become a value with units.
_REPLIES: dict[int, tuple[str, Callable[..., float | tuple[float, float]]]] = {
    Command.MOVE_TIME_READ: ("<HH", lambda count, duration: Move(angle_from_count(count), duration / 1000.0)),
    Command.MOVE_TIME_WAIT_READ: ("<HH", lambda count, duration: Move(angle_from_count(count), duration / 1000.0)),
    Command.ID_READ: ("<B", int),
    Command.ANGLE_OFFSET_READ: ("<b", lambda count: count / BUS_SERVO.per_radian),
    Command.ANGLE_LIMIT_READ: ("<HH", lambda low, high: (angle_from_count(low), angle_from_count(high))),
    Command.VIN_LIMIT_READ: ("<HH", lambda low, high: (low / 1000.0, high / 1000.0)),
    Command.TEMP_MAX_LIMIT_READ: ("<B", int),  # [deg C]
    Command.TEMP_READ: ("<B", int),  # [deg C]
    Command.VIN_READ: ("<H", lambda millivolts: millivolts / 1000.0),
    Command.POS_READ: ("<h", angle_from_count),
    Command.OR_MOTOR_MODE_READ: ("<BBh", lambda motor, _, speed: Mode(bool(motor), speed / 1000.0)),
    Command.LOAD_OR_UNLOAD_READ: ("<B", bool),
    Command.LED_CTRL_READ: ("<B", lambda off: not off),
    Command.LED_ERROR_READ: ("<B", lambda mask: LedError(mask & 7)),
}
REPLY = {command: struct.Struct(layout) for command, (layout, _) in _REPLIES.items()}
READS = frozenset(REPLY)
# Layout of the parameters of a write: that of the answer to its read, whose code is the next one. The deviation is
# adjusted by a command of its own; its write, which saves it, has no parameters.
REQUEST = {read - 1: layout for read, layout in REPLY.items() if Command(read - 1).name.endswith("_WRITE")}
REQUEST[Command.ANGLE_OFFSET_ADJUST] = REQUEST.pop(Command.ANGLE_OFFSET_WRITE)


def _milliseconds(duration: float) -> int:
    if not 0.0 <= duration <= MAX_MOVE_TIME:
        raise DeviceError(f"move time {duration} s is outside 0..{MAX_MOVE_TIME} s")
    return math.floor(duration * 1000.0 + 0.5)


def write(servo_id: int, command: Command, *values: int) -> bytes:
    """Return the frame of a command that is no read, with its parameters as raw values; some commands have none."""
    try:
        payload = REQUEST[command].pack(*values) if values else b""
    except struct.error as error:
        raise DeviceError(f"{command.name}{values}: {error}") from error
    return build(servo_id, command, payload)


def move_time(servo_id: int, angle: float, duration: float) -> bytes:
    """Move now: uniform speed from where the servo is to `angle` [rad] in `duration` [s] (0 = full speed)."""
    return write(servo_id, Command.MOVE_TIME_WRITE, count_from_angle(angle), _milliseconds(duration))


def id_write(servo_id: int, new_id: int) -> bytes:
    """Give one servo a new id (saved at once, to flash); connect ONE servo only."""
    if not 0 <= new_id < BROADCAST_ID:
        raise DeviceError(f"new servo id {new_id} is outside 0..253")
    return write(servo_id, Command.ID_WRITE, new_id)


def offset_count(angle: float) -> int:
    """Deviation count (-125..125) of an angle [rad]; raises beyond +-30 deg."""
    count = math.floor(angle * BUS_SERVO.per_radian + 0.5)
    if not -125 <= count <= 125:
        raise DeviceError(f"deviation {angle:.4f} rad is outside +-0.5236 rad (+-30 deg)")
    return count


def angle_offset_adjust(servo_id: int, angle: float) -> bytes:
    """Set the deviation [rad]; moves at once and is lost at power-off unless written."""
    return write(servo_id, Command.ANGLE_OFFSET_ADJUST, offset_count(angle))


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


def decode(command: int, payload: bytes) -> float | tuple[float, float]:
    """Turn a reply's payload into its value with units (see the write of the same name)."""
    return _REPLIES[command][1](*REPLY[command].unpack(payload))


QUANTITIES: dict[Quantity, Command] = {
    "position": Command.POS_READ,
    "target": Command.MOVE_TIME_WAIT_READ,
    "loaded": Command.LOAD_OR_UNLOAD_READ,
    "voltage": Command.VIN_READ,
    "temperature": Command.TEMP_READ,
    "lowest_voltage": Command.VIN_LIMIT_READ,
    "highest_voltage": Command.VIN_LIMIT_READ,
    "temperature_limit": Command.TEMP_MAX_LIMIT_READ,
    "deviation": Command.ANGLE_OFFSET_READ,
}


def extract_value(quantity: Quantity, payload: bytes) -> float:
    """Return the value of a quantity in the payload of its answer, which has both limits, or a target and its time."""
    value = decode(QUANTITIES[quantity], payload)
    return value[quantity == "highest_voltage"] if isinstance(value, tuple) else value


def encode_reply(servo_id: int, command: int, *values: int) -> bytes:
    """Build a servo's answer from raw integers (simulated servos and tests)."""
    return frame(servo_id, command, REPLY[command].pack(*values))


def pose(targets: Iterable[tuple[int, int, float]]) -> bytes:
    """One latched move for each target (servo id, count 0..1000, duration [s]), and the common start."""
    command = Command.MOVE_TIME_WAIT_WRITE
    pack = REQUEST[command].pack
    frames = [
        frame(servo_id, command, pack(count, int(min(duration * 1000.0 + 0.5, 30000.0))))
        for servo_id, count, duration in targets
    ]
    return b"".join((*frames, write(BROADCAST_ID, Command.MOVE_START)))
