"""Registers, packets and bus of Dynamixel protocol 1 (also Feetech's) and 2, byte for byte as the makers' SDKs.

Protocol 1: FF FF, id, length, instruction or error, parameters, ~sum. Protocol 2: FF FF FD 00, id, length (2),
instruction, (error,) parameters, CRC-16; within the parameters, FF FF FD is followed by one more FD. Sources:
ROBOTIS e-manual, dynamixel-sdk and ftservo-python-sdk.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from hexapod_dynamics.drivers.frame_finder import FrameFinder
from hexapod_dynamics.drivers.servos.interface import Fault, Idle, PortSettings
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink
from hexapod_dynamics.errors import DeviceError

BROADCAST_ID = 254  # addresses all servos


class Instruction(IntEnum):
    """The instruction in a packet."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    BULK_READ = 0x92


class Request(NamedTuple):
    """A packet of the computer: id of the servo, the instruction, its parameters."""

    servo_id: int
    instruction: int
    parameters: bytes


class Status(NamedTuple):
    """An answer: id of the servo, its error byte, its data."""

    servo_id: int
    error: int
    data: bytes


@dataclass(frozen=True)
class Register:
    """A register: address, size [bytes], value of one count.

    sign: the sign bit of a sign-magnitude number; None: two's complement if `signed`.
    """

    address: int
    size: int
    unit: float = 1.0
    signed: bool = False
    sign: int | None = None

    def number(self, data: bytes) -> int:
        """The whole number in the register's bytes (little endian)."""
        value = int.from_bytes(data, "little", signed=self.signed)
        if self.sign is not None and value >> self.sign & 1:
            return -(value & ~(1 << self.sign))
        return value

    def pack(self, value: int) -> bytes:
        """The bytes of a whole number."""
        if self.sign is not None and value < 0:
            value = -value | 1 << self.sign
        return value.to_bytes(self.size, "little", signed=self.signed)

    def place(self, block: Register) -> slice:
        """Where its bytes are in those of a block of registers."""
        begin = self.address - block.address
        return slice(begin, begin + self.size)


class Packets(FrameFinder):
    """How packets are built and found.

    overhead: number of bytes of an answer besides its data. longest: most data bytes of a packet that this
    computer sends. width: bytes of an address and of a size.
    """

    overhead: int
    longest: int
    width: int

    @abstractmethod
    def build(self, servo_id: int, instruction: int, parameters: bytes) -> bytes:
        """Return a packet of this computer."""

    def read(self, servo_id: int, address: int, size: int) -> bytes:
        """Return the packet that reads registers."""
        return self.build(servo_id, Instruction.READ, self._numbers(address, size))

    def write(self, servo_id: int, address: int, data: bytes) -> bytes:
        """Return the packet that writes registers of one servo."""
        return self.build(servo_id, Instruction.WRITE, self._numbers(address) + data)

    def sync_write(self, address: int, parts: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the packets that write the same registers of several servos: parts (id, data), data of one size."""
        sizes = {len(data) for _, data in parts}
        if len(sizes) > 1:
            raise DeviceError(f"a sync write has data of one size, given are {sorted(sizes)} bytes")
        packets, most = b"", max(1, (self.longest - 8) // (1 + max(sizes, default=0)))
        for first in range(0, len(parts), most):
            listed = b"".join(bytes((servo_id,)) + data for servo_id, data in parts[first : first + most])
            packets += self.build(BROADCAST_ID, Instruction.SYNC_WRITE, self._numbers(address, *sizes) + listed)
        return packets

    def sync_read(self, address: int, size: int, ids: Sequence[int]) -> bytes:
        """Return the packet that reads the same registers of several servos; they answer in this order."""
        return self.build(BROADCAST_ID, Instruction.SYNC_READ, self._numbers(address, size) + bytes(ids))

    def _numbers(self, *values: int) -> bytes:
        return b"".join(value.to_bytes(self.width, "little") for value in values)

    @abstractmethod
    def status(self, servo_id: int, error: int, data: bytes) -> bytes:
        """Return the packet with which a servo answers (used by simulated servos)."""

    @abstractmethod
    def request(self, frame: bytes) -> Request:
        """The request in a packet of the computer (used by simulated servos)."""

    @abstractmethod
    def answer(self, frame: bytes) -> Status | None:
        """The answer in a packet; None for a packet of this computer (an echo)."""

    def feed(self, chunk: bytes) -> list[Status]:
        """Return the answers that are complete with these bytes."""
        return [status for frame, _ in self.find(chunk) if (status := self.answer(frame)) is not None]


class Protocol1(Packets):
    """Dynamixel protocol 1, and Feetech; bulk: several servos are read by BULK_READ (MX) instead of SYNC_READ."""

    header, shortest = b"\xff\xff", 4
    overhead, longest, width = 6, 244, 1

    def __init__(self, bulk: bool = False) -> None:
        super().__init__()
        self._bulk = bulk

    def build(self, servo_id: int, instruction: int, parameters: bytes) -> bytes:
        """Return FF FF, id, length, instruction, parameters, ~sum."""
        body = bytes((servo_id, len(parameters) + 2, instruction)) + parameters
        return b"\xff\xff" + body + bytes((~sum(body) & 0xFF,))

    def sync_read(self, address: int, size: int, ids: Sequence[int]) -> bytes:
        """Return the packet that reads the same registers of several servos."""
        if self._bulk:
            listed = b"".join(bytes((size, servo_id, address)) for servo_id in ids)
            return self.build(BROADCAST_ID, Instruction.BULK_READ, b"\x00" + listed)
        return super().sync_read(address, size, ids)

    def size(self, held: bytearray) -> int:
        """Size of the packet that begins with these bytes; 0 if they are none."""
        return 4 + held[3] if held[2] <= BROADCAST_ID and held[3] >= 2 else 0

    def is_intact(self, frame: bytes) -> bool:
        """Whether the sum is right."""
        return ~sum(frame[2:-1]) & 0xFF == frame[-1]

    def status(self, servo_id: int, error: int, data: bytes) -> bytes:
        """Return the packet with which a servo answers: the error is in the place of the instruction."""
        return self.build(servo_id, error, data)

    def request(self, frame: bytes) -> Request:
        """The request in a packet."""
        return Request(frame[2], frame[4], frame[5:-1])

    def answer(self, frame: bytes) -> Status:
        """The answer in a packet; one of this computer looks alike."""
        return Status(*self.request(frame))


def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        register = value << 8
        for _ in range(8):
            register = (register << 1) ^ (0x8005 if register & 0x8000 else 0)
        table.append(register & 0xFFFF)
    return tuple(table)


_CRC = _crc_table()


def crc16(data: bytes | bytearray) -> int:
    """CRC-16 of protocol 2: polynomial 0x8005, start 0, not reflected."""
    check = 0
    for byte in data:
        check = (check << 8 & 0xFFFF) ^ _CRC[check >> 8 ^ byte]
    return check


class Protocol2(Packets):
    """Dynamixel protocol 2."""

    header, shortest = b"\xff\xff\xfd\x00", 8
    overhead, longest, width = 11, 1024, 2

    def build(self, servo_id: int, instruction: int, parameters: bytes) -> bytes:
        """Return FF FF FD 00, id, length, instruction, stuffed parameters, CRC-16."""
        inner = (bytes((instruction,)) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        head = b"\xff\xff\xfd\x00" + bytes((servo_id,)) + (len(inner) + 2).to_bytes(2, "little")
        return head + inner + crc16(head + inner).to_bytes(2, "little")

    def size(self, held: bytearray) -> int:
        """Size of the packet that begins with these bytes; 0 if they are none."""
        length = held[5] | held[6] << 8
        return 7 + length if 3 <= length <= self.longest else 0

    def is_intact(self, frame: bytes) -> bool:
        """Whether the CRC is right."""
        return crc16(frame[:-2]) == frame[-2] | frame[-1] << 8

    def status(self, servo_id: int, error: int, data: bytes) -> bytes:
        """Return the packet with which a servo answers: the error is the first parameter."""
        return self.build(servo_id, Instruction.STATUS, bytes((error,)) + data)

    def request(self, frame: bytes) -> Request:
        """The request in a packet."""
        return Request(frame[4], frame[7], frame[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"))

    def answer(self, frame: bytes) -> Status | None:
        """The answer in a packet; None for one of this computer."""
        servo_id, instruction, parameters = self.request(frame)
        if instruction != Instruction.STATUS or not parameters:
            return None
        return Status(servo_id, parameters[0], parameters[1:])


class RegisterBus(SerialLink):
    """A serial port with servos that speak `packets`."""

    def __init__(self, settings: PortSettings, packets: Packets) -> None:
        super().__init__(settings)
        self.packets = packets

    def ask(
        self, packet: bytes, ids: Sequence[int], size: int, idle: Idle = None, timeout: float | None = None
    ) -> dict[int, tuple[Status, float]]:
        """Send a packet; return the answers of these servos with `size` bytes of data, each with its arrival [s].

        `fault` says why one is missing. timeout [s]: instead of reply_timeout; it counts from when all could have
        answered. idle: called after that time; while it returns True, the wait goes on, for at most `patience`.
        """
        if self._serial is None:
            raise self._not_open()
        self.strays += len(self._discard_input())
        packets, answers = self.packets, dict[int, tuple[Status, float]]()
        packets.reset()
        damaged, skipped = packets.damaged, packets.skipped
        self.send(packet)
        # A servo answers after 0.6 ms, unless its register says otherwise (250 counts of 2 us).
        answer_time = (packets.overhead + size) * self.byte_time + 0.0006
        needed = (timeout or self.reply_timeout) + answer_time * len(ids)
        wait = ReplyWait(self.free_at, needed, self.patience, idle)
        echo: bytearray | None = bytearray()
        while len(answers) < len(ids) and not self.interrupted:
            now = time.monotonic()
            left = wait.left(now)
            if left < 0.0:
                break
            chunk = self._wait(left, now)
            if not chunk:
                continue
            if echo is not None:
                echo += chunk
                if len(echo) < len(packet) and packet.startswith(echo):
                    continue
                chunk, echo = bytes(echo.removeprefix(packet)), None
            came = time.monotonic()
            for status in packets.feed(chunk):
                if status.servo_id in ids and len(status.data) == size:
                    answers[status.servo_id] = status, came
        if len(answers) == len(ids):
            self.fault, self.strays = None, 0
        else:
            self.fault = Fault.of(packets.damaged > damaged, packets.skipped > skipped or packets.incomplete)
        return answers
