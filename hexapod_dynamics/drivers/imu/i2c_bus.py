"""Open an I2C bus by its number (smbus2), or a simulated one by the path of its socket, with the same calls."""

from __future__ import annotations

import os
import socket
import struct
from typing import Protocol

from hexapod_dynamics.errors import DeviceError

# Request: operation, address, register, length or value. Answer: errno (0 = done), data.
REQUEST = struct.Struct("BBBB")
READ_BLOCK, READ_BYTE, WRITE_BYTE = 1, 2, 3


class SocketSMBus:
    """The calls of smbus2, sent to a simulated bus through a local socket (one packet per exchange)."""

    def __init__(self, path: str, timeout: float = 1.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Limits of the kernel: with `settimeout` Python asks it before each call whether the call would wait.
        limit = struct.pack("@ll", int(timeout), int(timeout % 1.0 * 1e6))
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, direction, limit)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def _exchange(self, operation: int, address: int, register: int, value: int) -> bytes:
        try:
            self._socket.send(REQUEST.pack(operation, address, register, value))
            answer = self._socket.recv(64)
        except BlockingIOError as error:
            raise OSError(110, "simulated I2C bus: connection timed out") from error
        if not answer:
            raise OSError(19, "simulated I2C bus: the device is missing")
        if answer[0]:
            raise OSError(answer[0], os.strerror(answer[0]))
        return answer[1:]

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]:
        """Read up to 32 bytes, starting at a register."""
        return list(self._exchange(READ_BLOCK, i2c_addr, register, length))

    def read_byte_data(self, i2c_addr: int, register: int) -> int:
        """Read one register."""
        return self._exchange(READ_BYTE, i2c_addr, register, 1)[0]

    def write_byte_data(self, i2c_addr: int, register: int, value: int) -> None:
        """Write one register."""
        self._exchange(WRITE_BYTE, i2c_addr, register, value)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class I2cBus(Protocol):
    """The calls of smbus2's SMBus that the driver uses; failed exchanges raise OSError."""

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]:
        """Read up to 32 bytes, starting at a register."""

    def read_byte_data(self, i2c_addr: int, register: int) -> int:
        """Read one register."""

    def write_byte_data(self, i2c_addr: int, register: int, value: int) -> None:
        """Write one register."""

    def close(self) -> None:
        """Close the bus."""


def open_bus(bus: str) -> I2cBus:
    """Open I2C bus number `bus` ("1" is /dev/i2c-1) or the socket at that path; raises DeviceError with the remedy."""
    number = bus.removeprefix("/dev/i2c-")
    try:
        if not number.isdigit():
            return SocketSMBus(bus)
        from smbus2 import SMBus

        return SMBus(int(number))
    except FileNotFoundError as error:
        raise DeviceError(
            f"I2C bus {bus} does not exist: is its number right (i2cdetect -l lists them), is the simulator running?"
        ) from error
    except PermissionError as error:
        raise DeviceError(
            f'I2C bus {bus}: permission denied; add the user to the group "i2c" and log in again'
        ) from error
    except OSError as error:
        raise DeviceError(f"I2C bus {bus} cannot be opened: {error}") from error
