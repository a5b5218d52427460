"""Frames of the LX/HTD bus servo protocol: the command table, building one frame, and finding frames among garbage.

A frame is ``55 55 id length command parameters checksum`` with ``length = 3 + len(parameters)`` and
``checksum = ~(id + length + command + sum(parameters)) & 0xFF``; multi-byte values are little endian
(Hiwonder Bus Servo Communication Protocol). Writes are never acknowledged.
`hexapod_dynamics.drivers.servos.lx.protocol` defines the meaning and the units of the parameters.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.errors import DeviceError

BROADCAST_ID = 254
HEADER = b"\x55\x55"
MIN_LENGTH, MAX_LENGTH = 3, 7  # of the frame's length byte, over all commands
DEFAULT_BAUDRATE = 115200
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


# Commands that write identity, trim or protection limits: one of them sent to the whole chain by mistake changes every
# servo.
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

# Layout of the parameters of writes, and of the replies to READ commands.
REQUEST = {
    Command.MOVE_TIME_WRITE: struct.Struct("<HH"),
    Command.MOVE_TIME_WAIT_WRITE: struct.Struct("<HH"),
    Command.ID_WRITE: struct.Struct("<B"),
    Command.ANGLE_OFFSET_ADJUST: struct.Struct("<b"),
    Command.ANGLE_LIMIT_WRITE: struct.Struct("<HH"),
    Command.VIN_LIMIT_WRITE: struct.Struct("<HH"),
    Command.TEMP_MAX_LIMIT_WRITE: struct.Struct("<B"),
    Command.OR_MOTOR_MODE_WRITE: struct.Struct("<BBh"),
    Command.LOAD_OR_UNLOAD_WRITE: struct.Struct("<B"),
    Command.LED_CTRL_WRITE: struct.Struct("<B"),
    Command.LED_ERROR_WRITE: struct.Struct("<B"),
}
REPLY: dict[int, struct.Struct] = {
    Command.MOVE_TIME_READ: struct.Struct("<HH"),
    Command.MOVE_TIME_WAIT_READ: struct.Struct("<HH"),
    Command.ID_READ: struct.Struct("<B"),
    Command.ANGLE_OFFSET_READ: struct.Struct("<b"),
    Command.ANGLE_LIMIT_READ: struct.Struct("<HH"),
    Command.VIN_LIMIT_READ: struct.Struct("<HH"),
    Command.TEMP_MAX_LIMIT_READ: struct.Struct("<B"),
    Command.TEMP_READ: struct.Struct("<B"),
    Command.VIN_READ: struct.Struct("<H"),
    Command.POS_READ: struct.Struct("<h"),
    Command.OR_MOTOR_MODE_READ: struct.Struct("<BBh"),
    Command.LOAD_OR_UNLOAD_READ: struct.Struct("<B"),
    Command.LED_CTRL_READ: struct.Struct("<B"),
    Command.LED_ERROR_READ: struct.Struct("<B"),
}
READS = frozenset(REPLY)


class Frame(NamedTuple):
    """One frame as found on the wire; `end` counts the stream's bytes up to and including its checksum."""

    servo_id: int
    command: int
    payload: bytes
    end: int = 0


def checksum(body: bytes) -> int:
    """Return the checksum over id, length, command and parameters (header left out)."""
    return ~sum(body) & 0xFF


def encode(bodies: np.ndarray) -> np.ndarray:
    """Frames (k, 3 + m) uint8 of k bodies (k, m) uint8: id, length, command and parameters; the one encoder."""
    k, m = bodies.shape
    frames = np.empty((k, m + 3), np.uint8)
    frames[:, :2] = 0x55
    frames[:, 2:-1] = bodies
    frames[:, -1] = ~bodies.sum(axis=1, dtype=np.uint8)
    return frames


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
    return _encode_one(servo_id, command, payload)


def _encode_one(servo_id: int, command: int, payload: bytes) -> bytes:
    body = bytes((servo_id, 3 + len(payload), command)) + payload
    return encode(np.frombuffer(body, np.uint8)[None]).tobytes()


def reply(servo_id: int, command: int, payload: bytes) -> bytes:
    """Build the frame with which a servo answers a READ (used by simulated servos and tests)."""
    return _encode_one(servo_id, command, payload)


def reply_size(command: int) -> int:
    """Length in bytes of the whole reply frame to a READ command."""
    return 6 + REPLY[command].size


def reply_begin(servo_id: int, command: int) -> bytes:
    """Return header, id, length and command of the reply frame to a READ command."""
    return bytes((0x55, 0x55, servo_id, 3 + REPLY[command].size, command))


def find_reply(received: bytes, servo_id: int, command: int) -> bytes | None:
    """Find the answer to one READ among all received bytes; return its payload or None.

    Only an exact header, id, length, command and checksum counts, at any offset: the driver's own echo (length 3),
    late answers of other servos and noise are passed over. No servo sends after the answer. Bytes behind it
    therefore show that an inserted byte has shifted the frame, which a sum of bytes cannot detect: such an answer
    does not count.
    """
    size = REPLY[command].size
    start = len(received) - size - 6
    if start < 0 or received[start : start + 5] != reply_begin(servo_id, command):
        return None
    if checksum(received[start + 2 : -1]) != received[-1]:
        return None
    return bytes(received[start + 5 : -1])


def has_damaged_reply(received: bytes, servo_id: int, command: int) -> bool:
    """Return True if the complete answer to this READ has arrived, but with a wrong checksum.

    An intact answer with bytes behind it is not damaged: the answer to an abandoned request has arrived late, and
    the next answer has begun behind it.
    """
    size = REPLY[command].size
    start = received.find(reply_begin(servo_id, command))
    end = start + 5 + size
    return start >= 0 and end < len(received) and checksum(received[start + 2 : end]) != received[end]


class FrameParser:
    """Find frames in a stream of bytes that may contain other bytes before, between and inside the frames.

    After a bad checksum the search continues one byte further, so that a frame behind a false header is found.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._consumed = 0
        self.skipped_bytes = 0

    @property
    def fed(self) -> int:
        """How many bytes of the stream have been taken so far (`Frame.end` counts the same bytes)."""
        return self._consumed + len(self._buffer)

    def reset(self) -> None:
        """Forget a partial frame (after a pause on the line)."""
        self.skipped_bytes += len(self._buffer)
        self._consumed += len(self._buffer)
        self._buffer.clear()

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; returns the frames that are complete now, in order."""
        buffer = self._buffer
        buffer += data
        frames = []
        at, skipped, size = 0, 0, len(buffer)
        while size - at >= 6:
            if buffer[at] != 0x55 or buffer[at + 1] != 0x55 or not MIN_LENGTH <= buffer[at + 3] <= MAX_LENGTH:
                at, skipped = at + 1, skipped + 1
                continue
            total = buffer[at + 3] + 3
            if size - at < total:
                break
            if checksum(bytes(buffer[at + 2 : at + total - 1])) != buffer[at + total - 1]:
                at, skipped = at + 1, skipped + 1
                continue
            frames.append(
                Frame(
                    buffer[at + 2], buffer[at + 4], bytes(buffer[at + 5 : at + total - 1]), self._consumed + at + total
                )
            )
            at += total
        self.skipped_bytes += skipped
        self._consumed += at
        del buffer[:at]
        return frames
