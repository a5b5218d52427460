"""Frames of Hiwonder's STM32 board (JetHexa with an Orin): AA 55, function, length, data, CRC-8 of these three.

Little endian. Source: the vendor's SDK (Hiwonder/ROSpider, `ros_robot_controller_sdk.py`). The board sends battery,
buttons, IMU and gamepad unasked, so that these frames stand between the answers of the servos.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from hexapod_dynamics.drivers.frame_finder import Answer, FrameFinder
from hexapod_dynamics.drivers.servos.lx.protocol import REPLY, Command
from hexapod_dynamics.errors import DeviceError

HEADER = b"\xaa\x55"


class Function(IntEnum):
    """Function code of a frame: the device on the board that it addresses."""

    SYSTEM = 0
    LED = 1
    BUZZER = 2
    MOTOR = 3
    PWM_SERVO = 4
    BUS_SERVO = 5
    BUTTON = 6
    IMU = 7
    GAMEPAD = 8
    SBUS = 9
    OLED = 10
    RGB = 11


class ServoCommand(IntEnum):
    """First byte of the data of a BUS_SERVO frame."""

    SET_POSITIONS = 0x01
    STOP = 0x03
    READ_POSITION = 0x05
    READ_VOLTAGE = 0x07
    READ_TEMPERATURE = 0x09
    TORQUE_ON = 0x0B
    TORQUE_OFF = 0x0C
    READ_TORQUE = 0x0D
    READ_ID = 0x12
    READ_DEVIATION = 0x22
    READ_ANGLE_LIMITS = 0x32
    READ_VOLTAGE_LIMITS = 0x36
    READ_TEMPERATURE_LIMIT = 0x3A


# The command that reads what a servo answers to an LX command; its answer has the bytes of the servo's answer.
READS = {
    Command.POS_READ: ServoCommand.READ_POSITION,
    Command.VIN_READ: ServoCommand.READ_VOLTAGE,
    Command.TEMP_READ: ServoCommand.READ_TEMPERATURE,
    Command.LOAD_OR_UNLOAD_READ: ServoCommand.READ_TORQUE,
    Command.ID_READ: ServoCommand.READ_ID,
    Command.ANGLE_OFFSET_READ: ServoCommand.READ_DEVIATION,
    Command.ANGLE_LIMIT_READ: ServoCommand.READ_ANGLE_LIMITS,
    Command.VIN_LIMIT_READ: ServoCommand.READ_VOLTAGE_LIMITS,
    Command.TEMP_MAX_LIMIT_READ: ServoCommand.READ_TEMPERATURE_LIMIT,
}
_ANSWER_SIZES = {int(read): REPLY[command].size for command, read in READS.items()}
LONGEST_ANSWER = 8 + max(_ANSWER_SIZES.values())  # bytes of its frame
_REPORTS = {  # layouts of the data that the board sends unasked; of SBUS: 16 channels and four flags
    Function.SYSTEM: struct.Struct("<BH"),
    Function.BUTTON: struct.Struct("<BB"),
    Function.IMU: struct.Struct("<6f"),
    Function.GAMEPAD: struct.Struct("<HB4b"),
    Function.SBUS: struct.Struct("<16h4B"),
}
# Samples of the IMU go to the process that publishes them by a datagram socket in a directory that only this user can
# write to: monotonic time [s], which all processes of a computer share; ax, ay, az [g], gx, gy, gz [deg/s].
SOCKET, SAMPLE = "board_imu.sock", struct.Struct("<d6f")
PRESSED = 0x01  # event of a button; others are its release, clicks and long presses


class Battery(NamedTuple):
    """The battery's voltage [V]."""

    voltage: float


class Button(NamedTuple):
    """What has happened to a button of the board."""

    number: int
    event: int


class ImuValues(NamedTuple):
    """ax, ay, az [g], gx, gy, gz [deg/s], in the axes of the board's IMU."""

    values: tuple[float, ...]


class Pad(NamedTuple):
    """State of the gamepad: buttons (bit mask), hat (code of its direction), sticks -128..127 to the right and up."""

    buttons: int
    hat: int
    left_x: int
    left_y: int
    right_x: int
    right_y: int


class Remote(NamedTuple):
    """State of a radio remote control (SBUS): its 16 channels -1..1, and whether its signal is lost."""

    channels: tuple[float, ...]
    lost: bool

    @property
    def is_stopping(self) -> bool:
        """Whether the switch of channel 6 asks for the emergency stop."""
        return not self.lost and self.channels[5] > 0.3


Report = Battery | Button | ImuValues | Pad | Remote


def _crc_of_byte(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0x8C if value & 1 else 0)  # the polynomial 0x31, reflected
    return value


_TABLE = bytes(map(_crc_of_byte, range(256)))


def beep(frequency: int, on: float, off: float, repeats: int) -> bytes:
    """Return the frame that lets the buzzer sound `repeats` times: frequency [Hz], times on and off [s]."""
    return build(Function.BUZZER, struct.pack("<4H", frequency, round(1000.0 * on), round(1000.0 * off), repeats))


def crc8(data: bytes | bytearray) -> int:
    """CRC-8 of Dallas/Maxim: polynomial 0x31 reflected, start 0."""
    check = 0
    for byte in data:
        check = _TABLE[check ^ byte]
    return check


def build(function: int, data: bytes) -> bytes:
    """Return the frame."""
    if len(data) > 255:
        raise DeviceError(f"a frame of the board takes 255 bytes of data, {len(data)} given")
    body = bytes((function, len(data))) + data
    return HEADER + body + bytes((crc8(body),))


class Frame(NamedTuple):
    """A received frame; `behind`: number of bytes received behind it in the same chunk."""

    function: int
    data: bytes
    behind: int = 0


class FrameParser(FrameFinder):
    """Finds frames with at most `longest` bytes of data.

    The longest frame of the board has 36 bytes (SBUS); much longer ones are noise.
    """

    header, shortest, step = HEADER, 4, 2

    def __init__(self, longest: int = 64) -> None:
        super().__init__()
        self._longest = longest

    def size(self, held: bytearray) -> int:
        """Size of the frame that begins with these bytes; 0 if they are no frame."""
        return held[3] + 5 if held[2] < len(Function) and held[3] <= self._longest else 0

    def is_intact(self, frame: bytes) -> bool:
        """Whether the CRC is right."""
        return crc8(frame[2:-1]) == frame[-1]

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that are complete with these bytes."""
        return [Frame(frame[2], frame[4:-1], behind) for frame, behind in self.find(chunk)]

    def give_up(self) -> list[Frame]:
        """Treat the beginning of a frame as noise, because nothing has followed; return the frames behind it."""
        if not self.incomplete:
            return []
        self.damaged += 1
        self._skip(min(2, len(self._held)))
        return self.feed(b"")


def servo_request(command: ServoCommand, servo_id: int) -> bytes:
    """Return the frame of a command that has nothing but an id."""
    return build(Function.BUS_SERVO, bytes((command, servo_id)))


def set_positions(duration: float, targets: Sequence[tuple[int, int]]) -> bytes:
    """Return the frame that moves servos: targets (id, count 0..1000), all in the same duration [s], at most 30."""
    milliseconds = round(min(max(duration, 0.0), 30.0) * 1000.0)
    head = struct.pack("<BHB", ServoCommand.SET_POSITIONS, milliseconds, len(targets))
    return build(Function.BUS_SERVO, head + b"".join(struct.pack("<BH", *target) for target in targets))


def stop(ids: Sequence[int]) -> bytes:
    """Return the frame that stops these servos at their present positions."""
    return build(Function.BUS_SERVO, bytes((ServoCommand.STOP, len(ids), *ids)))


def parse_answer(data: bytes) -> Answer | None:
    """Return the answer in the data of a BUS_SERVO frame, None if the data is not an answer."""
    if len(data) < 3 or data[1] not in _ANSWER_SIZES:
        return None
    servo_id, command, success = data[:3]
    if success:
        return Answer((servo_id, command), b"", code=success)
    return Answer((servo_id, command), data[3:]) if len(data) == 3 + _ANSWER_SIZES[command] else None


def parse_report(function: int, data: bytes) -> Report | None:
    """Return what a frame reports that the board has sent unasked; None for another function or length.

    The last bytes of an SBUS frame are channels 17 and 18, "signal lost" and "fail-safe"; in the last two cases the
    reported channels are not the positions of the sticks.
    """
    if function not in _REPORTS or len(data) != _REPORTS[Function(function)].size:
        return None
    values = _REPORTS[Function(function)].unpack(data)
    if function == Function.SYSTEM:
        return Battery(values[1] / 1000.0) if values[0] == 0x04 else None
    if function == Function.SBUS:
        # 192 and 1792 are the counts of a channel at the ends of a stick's way.
        channels = ((count - 192) / 800.0 - 1.0 for count in values[:16])
        return Remote(tuple(min(max(channel, -1.0), 1.0) for channel in channels), any(values[18:]))
    if function == Function.IMU:
        return ImuValues(values)
    return Button(*values) if function == Function.BUTTON else Pad(*values)


# Masks of the vendor's SDK, in joy_node's order: A, B, X, Y, L1, R1, select, start, (guide), L3, R3.
_BUTTONS = (0x0100, 0x0200, 0x0800, 0x1000, 0x4000, 0x8000, 0x0004, 0x0008, 0x0000, 0x0020, 0x0040)
_HAT = {9: (1.0, 0.0), 13: (-1.0, 0.0), 15: (0.0, 1.0), 11: (0.0, -1.0)}  # left, right, up, down: as the vendor's node


def _stick(value: int) -> float:
    return value / 127.0 if value > 0 else value / 128.0


def joy_values(pad: Pad) -> tuple[list[float], list[int]]:
    """Axes (8,) -1..1 (left stick x, y, L2, right stick x, y, R2, hat x, y; left and up positive) and buttons (11,)."""
    axes = [
        -_stick(pad.left_x),
        _stick(pad.left_y),
        -1.0 if pad.buttons & 0x0001 else 1.0,
        -_stick(pad.right_x),
        _stick(pad.right_y),
        -1.0 if pad.buttons & 0x0002 else 1.0,
        *_HAT.get(pad.hat, (0.0, 0.0)),
    ]
    return axes, [int(pad.buttons & mask != 0) for mask in _BUTTONS]


def remote_values(remote: Remote) -> tuple[list[float], list[int]]:
    """Axes (8,) and buttons (11,) as `joy_values`; everything is released while the signal is lost.

    The switches of channels 5 and 6 stand for L1 (drive) and B (emergency stop).
    """
    axes, buttons = joy_values(Pad(0, 0, 0, 0, 0, 0))
    if not remote.lost:
        aileron, elevator, throttle, rudder, drive = remote.channels[:5]
        axes[0], axes[1], axes[3], axes[4] = -aileron, elevator, -rudder, throttle
        buttons[4], buttons[1] = int(drive > 0.3), int(remote.is_stopping)
    return axes, buttons


class ImuSender:
    """Sends samples to the socket at `path`, of the process that publishes them; it never waits."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self.dropped = 0

    def send(self, values: Sequence[float], stamp: float) -> None:
        """Send a sample of the monotonic time `stamp` [s]; it is dropped if no process receives."""
        try:
            self._socket.sendto(SAMPLE.pack(stamp, *values), self._path)
        except OSError:  # nobody receives yet, or the receiver is late
            self.dropped += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
