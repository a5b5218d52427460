"""Packets of servos with registers: Dynamixel protocol 1 (also Feetech's) and 2, byte for byte as the makers' SDKs.

Protocol 1: FF FF, id, length, instruction or error, parameters, ~sum. Protocol 2: FF FF FD 00, id, length (2),
instruction, (error,) parameters, CRC-16; within the parameters, FF FF FD is followed by one more FD. Sources:
ROBOTIS e-manual, dynamixel-sdk and ftservo-python-sdk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from hexapod_dynamics.errors import DeviceError

BROADCAST_ID = 254


class Instruction(IntEnum):
    """The instruction in a packet."""

    READ = 0x02
    WRITE = 0x03
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    BULK_READ = 0x92


class Status(NamedTuple):
    """An answer: id of the servo, its error byte, its data."""

    servo_id: int
    error: int
    data: bytes


class Packets(ABC):
    """How packets are built and found.

    overhead: number of bytes of an answer besides its data. longest: most data bytes of a packet that this
    computer sends. width: bytes of an address and of a size.
    """

    overhead: int
    longest: int
    width: int

    def __init__(self) -> None:
        self.damaged = 0  # answers with a wrong checksum
        self.skipped = 0  # bytes that belong to no answer
        self._held = bytearray()

    def reset(self) -> None:
        """Discard what was received."""
        self._held.clear()

    @property
    def incomplete(self) -> bool:
        """Whether the beginning of an answer has come."""
        return len(self._held) > 0

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
        """Return the packet that writes the same registers of several servos: parts (id, data), data of one size."""
        sizes = {len(data) for _, data in parts}
        if len(sizes) != 1:
            raise DeviceError(f"a sync write has data of one size, given are {sorted(sizes)} bytes")
        listed = b"".join(bytes((servo_id,)) + data for servo_id, data in parts)
        return self.build(BROADCAST_ID, Instruction.SYNC_WRITE, self._numbers(address, *sizes) + listed)

    def sync_read(self, address: int, size: int, ids: Sequence[int]) -> bytes:
        """Return the packet that reads the same registers of several servos; they answer in this order."""
        return self.build(BROADCAST_ID, Instruction.SYNC_READ, self._numbers(address, size) + bytes(ids))

    def _numbers(self, *values: int) -> bytes:
        return b"".join(value.to_bytes(self.width, "little") for value in values)

    @abstractmethod
    def feed(self, chunk: bytes) -> list[Status]:
        """Return the answers that are complete with these bytes; packets of this computer (an echo) are no
        answers.
        """

    def _skip(self, count: int) -> None:
        self.skipped += count
        del self._held[:count]


class Protocol1(Packets):
    """Dynamixel protocol 1, and Feetech; bulk: several servos are read by BULK_READ (MX) instead of SYNC_READ."""

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

    def feed(self, chunk: bytes) -> list[Status]:
        """Return the answers that are complete with these bytes."""
        held = self._held
        found: list[Status] = []
        held += chunk
        while True:
            begin = held.find(b"\xff\xff")
            if begin < 0:
                self._skip(len(held) - (held[-1:] == b"\xff"))
                return found
            self._skip(begin)
            while held[2:3] == b"\xff":  # the header is the last two of them
                self._skip(1)
            if len(held) < 4:
                return found
            size = 4 + held[3]
            if held[3] < 2 or held[2] > BROADCAST_ID:
                self._skip(1)
            elif len(held) < size:
                return found
            elif ~sum(held[2 : size - 1]) & 0xFF != held[size - 1]:
                self.damaged += 1
                self._skip(1)
            else:
                found.append(Status(held[2], held[4], bytes(held[5 : size - 1])))
                del held[:size]


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

    overhead, longest, width = 11, 1024, 2

    def build(self, servo_id: int, instruction: int, parameters: bytes) -> bytes:
        """Return FF FF FD 00, id, length, instruction, stuffed parameters, CRC-16."""
        inner = (bytes((instruction,)) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        head = b"\xff\xff\xfd\x00" + bytes((servo_id,)) + (len(inner) + 2).to_bytes(2, "little")
        return head + inner + crc16(head + inner).to_bytes(2, "little")

    def feed(self, chunk: bytes) -> list[Status]:
        """Return the answers that are complete with these bytes."""
        held = self._held
        found: list[Status] = []
        held += chunk
        while True:
            begin = held.find(b"\xff\xff\xfd\x00")
            if begin < 0:
                keep = next((k for k in (3, 2, 1) if held.endswith(b"\xff\xff\xfd"[:k])), 0)
                self._skip(len(held) - keep)
                return found
            self._skip(begin)
            if len(held) < 8:
                return found
            length = held[5] | held[6] << 8
            size = 7 + length
            if length < 3 or length > self.longest:
                self._skip(1)
            elif len(held) < size:
                return found
            elif crc16(held[: size - 2]) != held[size - 2] | held[size - 1] << 8:
                self.damaged += 1
                self._skip(1)
            else:
                if held[7] == Instruction.STATUS and length >= 4:
                    data = bytes(held[9 : size - 2]).replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
                    found.append(Status(held[4], held[8], data))
                del held[:size]
