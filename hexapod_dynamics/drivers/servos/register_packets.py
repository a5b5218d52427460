"""Registers and packets of Dynamixel protocol 1 (also Feetech's) and 2, byte for byte as the makers' SDKs.

Both: header, id, length, instruction, parameters, check; the length counts what is behind it. Protocol 1: FF FF, length
and check (~sum) of one byte, an answer has its error in the place of the instruction. Protocol 2: FF FF FD 00, length
and check (CRC-16) of two bytes, an answer has its error before the data; behind each FF FF FD of instruction and
parameters stands one more FD. Sources: ROBOTIS e-manual, dynamixel-sdk and ftservo-python-sdk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from hexapod_dynamics.drivers.frame_finder import FrameFinder
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


class Packet(NamedTuple):
    """A request or an answer: id of the servo, the instruction or the servo's error byte, parameters or data."""

    servo_id: int
    code: int
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


class Packets(FrameFinder):
    """How packets of protocol `version` (1, 2) are built and found.

    bulk: several servos are read by BULK_READ (MX with protocol 1) instead of SYNC_READ. width: bytes of an address, of
    a size, of the length and of the check. overhead: bytes of an answer besides its data.
    """

    def __init__(self, version: int, bulk: bool = False) -> None:
        super().__init__()
        self.width, self._bulk = version, bulk
        self.header = b"\xff\xff" if version == 1 else b"\xff\xff\xfd\x00"
        self._begin = len(self.header) + 1 + self.width  # where the instruction stands
        self.shortest = self._begin
        self.overhead = self._begin + version + self.width  # the error, in protocol 2 also the instruction; the check
        self._longest = 244 if version == 1 else 1024  # data bytes of a packet that this computer sends

    def _check(self, data: bytes) -> bytes:
        """Return the check of a packet without it."""
        check = ~sum(data[2:]) & 0xFF if self.width == 1 else crc16(data)
        return check.to_bytes(self.width, "little")

    def build(self, servo_id: int, instruction: int, parameters: bytes) -> bytes:
        """Return a packet."""
        inner = bytes((instruction,)) + parameters
        if self.width == 2:
            inner = inner.replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        packet = self.header + bytes((servo_id,)) + self._numbers(len(inner) + self.width) + inner
        return packet + self._check(packet)

    def read(self, servo_id: int, address: int, size: int) -> bytes:
        """Return the packet that reads registers."""
        return self.build(servo_id, Instruction.READ, self._numbers(address, size))

    def sync_write(self, address: int, parts: Sequence[tuple[int, bytes]]) -> bytes:
        """Return the packets that write the same registers of several servos: parts (id, data), data of one size."""
        sizes = {len(data) for _, data in parts}
        if len(sizes) > 1:
            raise DeviceError(f"a sync write has data of one size, given are {sorted(sizes)} bytes")
        packets, most = b"", max(1, (self._longest - 8) // (1 + max(sizes, default=0)))
        for first in range(0, len(parts), most):
            listed = b"".join(bytes((servo_id,)) + data for servo_id, data in parts[first : first + most])
            packets += self.build(BROADCAST_ID, Instruction.SYNC_WRITE, self._numbers(address, *sizes) + listed)
        return packets

    def sync_read(self, address: int, size: int, ids: Sequence[int]) -> bytes:
        """Return the packet that reads the same registers of several servos; they answer in this order."""
        if self._bulk:
            listed = b"".join(bytes((size, servo_id, address)) for servo_id in ids)
            return self.build(BROADCAST_ID, Instruction.BULK_READ, b"\x00" + listed)
        return self.build(BROADCAST_ID, Instruction.SYNC_READ, self._numbers(address, size) + bytes(ids))

    def _numbers(self, *values: int) -> bytes:
        return b"".join(value.to_bytes(self.width, "little") for value in values)

    def size(self, held: bytearray) -> int:
        """Size of the packet that begins with these bytes; 0 if they are none."""
        length = int.from_bytes(held[self._begin - self.width : self._begin], "little")
        possible = held[len(self.header)] <= BROADCAST_ID and self.width < length <= max(self._longest, 255)
        return self._begin + length if possible else 0

    def is_intact(self, frame: bytes) -> bool:
        """Whether the check is right."""
        return self._check(frame[: -self.width]) == frame[-self.width :]

    def parse(self, frame: bytes) -> Packet:
        """The content of a whole packet: of a request, or with protocol 1 of an answer."""
        parameters = frame[self._begin + 1 : -self.width]
        if self.width == 2:
            parameters = parameters.replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        return Packet(frame[len(self.header)], frame[self._begin], parameters)

    def status(self, servo_id: int, error: int, data: bytes) -> bytes:
        """Return the packet with which a servo answers (used by simulated servos)."""
        if self.width == 1:
            return self.build(servo_id, error, data)
        return self.build(servo_id, Instruction.STATUS, bytes((error,)) + data)

    def feed(self, chunk: bytes) -> list[Packet]:
        """Return the answers that are complete with these bytes; with protocol 1, packets of this computer look alike.

        Other packets of protocol 2 are those of this computer (an echo).
        """
        packets = [self.parse(frame) for frame, _ in self.find(chunk)]
        if self.width == 1:
            return packets
        answers = [packet for packet in packets if packet.code == Instruction.STATUS and packet.data]
        return [Packet(servo_id, data[0], data[1:]) for servo_id, _, data in answers]
