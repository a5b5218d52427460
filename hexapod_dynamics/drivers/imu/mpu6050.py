"""InvenSense MPU6050 and its relatives on an I2C bus (calls of smbus2): start-up with read-back, bursts, SI units.

Values are in the chip's axes, as the device reports them: specific force [m/s^2] (+g upward at rest), angular velocity
[rad/s], temperature [deg C]. Registers and figures: MPU-6000/6050 register map 4.2 and product specification 3.4;
register maps and specifications of MPU-6500, MPU-9250, MPU-9255, ICM-20602, ICM-20608 and ICM-20689, which have the
same registers, and one more (ACCEL_CONFIG_2) for the low-pass filter of the accelerometer.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hexapod_dynamics.errors import DeviceError

# Request: operation, address, register, length or value. Answer: errno (0 = done), data.
REQUEST_FORMAT = struct.Struct("BBBB")
READ_BLOCK, READ_BYTE, WRITE_BYTE = 1, 2, 3


class SocketSMBus:
    """The calls of smbus2's SMBus, sent to a simulated bus through a local socket (one packet per exchange)."""

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
            self._socket.send(REQUEST_FORMAT.pack(operation, address, register, value))
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


def open_bus(bus: str) -> SocketSMBus:
    """Open I2C bus number `bus` ("1" is /dev/i2c-1), with smbus2, or the socket at that path; raises DeviceError with
    the remedy.
    """
    number = bus.removeprefix("/dev/i2c-")
    try:
        if not number.isdigit():
            return SocketSMBus(bus)
        from smbus2 import SMBus

        return SMBus(int(number))
    except FileNotFoundError as error:
        remedy = "is its number right (i2cdetect -l lists them)?" if number.isdigit() else "is the simulator running?"
        raise DeviceError(f"I2C bus {bus} does not exist: {remedy}") from error
    except PermissionError as error:
        raise DeviceError(
            f'I2C bus {bus}: permission denied; add the user to the group "i2c" and log in again'
        ) from error
    except OSError as error:
        raise DeviceError(f"I2C bus {bus} cannot be opened: {error}") from error


STANDARD_GRAVITY = 9.80665
SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG, ACCEL_CONFIG_2 = 0x19, 0x1A, 0x1B, 0x1C, 0x1D
ACCEL_XOUT_H, SIGNAL_PATH_RESET, PWR_MGMT_1, WHO_AM_I = 0x3B, 0x68, 0x6B, 0x75
SLEEP, DEVICE_RESET, CLOCK_PLL_GYRO_X = 0x40, 0x80, 0x01
BURST_FORMAT = struct.Struct(">7h")  # accel xyz, temperature, gyro xyz from ACCEL_XOUT_H
GYRO_RANGES = {250: 131.0, 500: 65.5, 1000: 32.8, 2000: 16.4}  # deg/s -> LSB per deg/s
ACCEL_RANGES = {2: 16384.0, 4: 8192.0, 8: 4096.0, 16: 2048.0}  # g -> LSB per g
_NOISE_BAND = 1.57  # equivalent noise band of a first-order filter
GENUINE_IDENTITY = 0x68  # WHO_AM_I of an MPU6050


@dataclass(frozen=True)
class Chip:
    """What differs among the relatives: bands [Hz] and noise densities.

    accel_bands: of the accelerometer, gyro_filters: (band [Hz], delay [s]) of the gyro, each for the filter settings 0
    to 6. own_filter: the accelerometer's filter is set by ACCEL_CONFIG_2. accel_noise [m/s^2/sqrt(Hz)], gyro_noise
    [rad/s/sqrt(Hz)]. temperature: (counts per deg C, deg C at zero).
    """

    name: str
    accel_bands: tuple[float, ...]
    gyro_filters: tuple[tuple[float, float], ...]
    own_filter: bool
    accel_noise: float
    gyro_noise: float
    temperature: tuple[float, float]

    def gyro_variance(self, dlpf: int) -> float:
        """Datasheet noise variance [(rad/s)^2] in the band of a filter setting."""
        return self.gyro_noise**2 * _NOISE_BAND * self.gyro_filters[dlpf][0]

    def accel_variance(self, dlpf: int) -> float:
        """Datasheet noise variance [(m/s^2)^2] in the band of a filter setting."""
        return self.accel_noise**2 * _NOISE_BAND * self.accel_bands[dlpf]

    def delay(self, dlpf: int) -> float:
        """Delay [s] of the gyro's low-pass filter."""
        return self.gyro_filters[dlpf][1]


_GYRO_6050 = (256, 0.98e-3), (188, 1.9e-3), (98, 2.8e-3), (42, 4.8e-3), (20, 8.3e-3), (10, 13.4e-3), (5, 18.6e-3)
_GYRO_6500 = (250, 0.97e-3), (184, 2.9e-3), (92, 3.9e-3), (41, 5.9e-3), (20, 9.9e-3), (10, 17.85e-3), (5, 33.48e-3)
_ACCEL_9250 = 218.1, 218.1, 99.0, 44.8, 21.2, 10.2, 5.1
_MICRO_G, _DEGREE = 1e-6 * STANDARD_GRAVITY, math.radians(1.0)
MPU6050 = Chip(
    "MPU6050", (260, 184, 94, 44, 21, 10, 5), _GYRO_6050, False, 400 * _MICRO_G, 0.005 * _DEGREE, (340.0, 36.53)
)
MPU6500 = Chip(
    "MPU6500", (460, 184, 92, 41, 20, 10, 5), _GYRO_6500, True, 300 * _MICRO_G, 0.01 * _DEGREE, (333.87, 21.0)
)
_ICM = Chip("ICM-20689", _ACCEL_9250, _GYRO_6500, True, 150 * _MICRO_G, 0.006 * _DEGREE, (326.8, 25.0))
CHIPS = {
    GENUINE_IDENTITY: MPU6050,
    0x72: replace(MPU6050, name="a clone of the MPU6050"),
    0x70: MPU6500,
    0x71: replace(MPU6500, name="MPU9250", accel_bands=_ACCEL_9250),
    0x73: replace(MPU6500, name="MPU9255", accel_bands=_ACCEL_9250),
    0x74: replace(MPU6500, name="MPU6515"),
    0x98: _ICM,
    0x12: replace(_ICM, name="ICM-20602", accel_noise=100 * _MICRO_G, gyro_noise=0.004 * _DEGREE),
    0xAF: replace(_ICM, name="ICM-20608-G", accel_noise=250 * _MICRO_G, gyro_noise=0.008 * _DEGREE),
    0xAE: replace(_ICM, name="ICM-20608-D", accel_noise=250 * _MICRO_G, gyro_noise=0.008 * _DEGREE),
}


class UnexpectedAnswer(OSError):
    """The exchange succeeded, but the answer cannot be right; an OSError, as failed exchanges are."""


class Sample(NamedTuple):
    """One burst: specific force (3,) [m/s^2], angular velocity (3,) [rad/s], temperature [deg C], clipped."""

    acceleration: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]
    temperature: float
    saturated: bool
    raw: bytes


@dataclass(frozen=True)
class Mpu6050Settings:
    """address 0x68 or 0x69; accel_range [g], gyro_range [deg/s], dlpf 0..6, rate [1/s] at which it will be read.

    dlpf: frequencies above half of the rate, as when feet touch down, are aliased into the angular velocity, so
    that the heading drifts: less with 4 (20 Hz) than with 3 (42 Hz) at 100 samples a second. The filter's delay is
    subtracted from the stamps.
    """

    address: int = 0x68
    accel_range: int = 4
    gyro_range: int = 500
    dlpf: int = 4
    rate: float = 100.0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("address", (0x68, 0x69)),
            ("accel_range", tuple(ACCEL_RANGES)),
            ("gyro_range", tuple(GYRO_RANGES)),
            ("dlpf", tuple(range(7))),
        ):
            if getattr(self, name) not in allowed:
                raise DeviceError(f"IMU {name} {getattr(self, name)}: allowed is {', '.join(map(str, allowed))}")
        if not 1.0 <= self.rate <= 500.0:
            raise DeviceError(f"IMU rate {self.rate} 1/s: allowed is 1..500 (bus time of a burst at 100 kHz)")

    @property
    def divider(self) -> int:
        """SMPLRT_DIV for a chip that samples at least twice as often as it is read, so no sample is read twice."""
        base = 8000.0 if self.dlpf == 0 else 1000.0
        return max(0, min(255, math.floor(base / (2.0 * self.rate)) - 1))

    @property
    def registers(self) -> dict[int, int]:
        """Registers and values written to every chip at start-up, in this order; they must read back."""
        return {
            PWR_MGMT_1: CLOCK_PLL_GYRO_X,
            CONFIG: self.dlpf,
            SMPLRT_DIV: self.divider,
            GYRO_CONFIG: list(GYRO_RANGES).index(self.gyro_range) << 3,
            ACCEL_CONFIG: list(ACCEL_RANGES).index(self.accel_range) << 3,
        }


class Mpu6050:
    """The chip on an open I2C bus; sleep(seconds) waits during `start`."""

    def __init__(
        self, bus: SocketSMBus, settings: Mpu6050Settings | None = None, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.settings = settings or Mpu6050Settings()
        self.identity: int | None = None
        self.chip = MPU6050
        self._bus, self._sleep, self._address = bus, sleep, self.settings.address
        self._registers = self.settings.registers  # that this chip gets; they must read back
        self._accel_unit = STANDARD_GRAVITY / ACCEL_RANGES[self.settings.accel_range]
        self._gyro_unit = math.radians(1.0) / GYRO_RANGES[self.settings.gyro_range]

    def start(self) -> None:
        """Reset, wake and set up the chip; raises UnexpectedAnswer when a register does not read back."""
        write = self._bus.write_byte_data
        write(self._address, PWR_MGMT_1, DEVICE_RESET)
        self._sleep(0.1)
        write(self._address, SIGNAL_PATH_RESET, 0x07)
        self._sleep(0.1)
        self.identity = self._bus.read_byte_data(self._address, WHO_AM_I)
        if self.identity in (0x00, 0xFF):
            raise UnexpectedAnswer(5, f"WHO_AM_I reads 0x{self.identity:02x}: nothing drives the data line")
        self.chip = CHIPS.get(self.identity) or self._detect_filter()
        own = {ACCEL_CONFIG_2: self.settings.dlpf} if self.chip.own_filter else {}
        self._registers = self.settings.registers | own
        for register, value in self._registers.items():
            write(self._address, register, value)
        self.verify()

    def _detect_filter(self) -> Chip:
        """Return how to set up an unknown chip: whether the accelerometer's own filter can be set is tried."""
        self._bus.write_byte_data(self._address, ACCEL_CONFIG_2, self.settings.dlpf or 7)
        own = self._bus.read_byte_data(self._address, ACCEL_CONFIG_2) == (self.settings.dlpf or 7)
        return replace(MPU6500 if own else MPU6050, name="an unknown chip")

    def verify(self) -> None:
        """Compare the registers with what was written; raises UnexpectedAnswer after a brown-out or a bad write.

        A failed exchange raises another OSError.
        """
        for register, value in self._registers.items():
            found = self._bus.read_byte_data(self._address, register)
            if found != value:
                what = "asleep after a brown-out" if register == PWR_MGMT_1 and found & SLEEP else "not what was set"
                raise UnexpectedAnswer(
                    5, f"register 0x{register:02x} reads 0x{found:02x} instead of 0x{value:02x}: {what}"
                )

    def read(self) -> Sample:
        """Read one burst: a single sampling instant of all axes."""
        data = bytes(self._bus.read_i2c_block_data(self._address, ACCEL_XOUT_H, BURST_FORMAT.size))
        if len(data) != BURST_FORMAT.size:
            raise UnexpectedAnswer(5, f"{len(data)} bytes instead of {BURST_FORMAT.size}")
        ax, ay, az, t, gx, gy, gz = BURST_FORMAT.unpack(data)
        a, g = self._accel_unit, self._gyro_unit
        temperature = t / self.chip.temperature[0] + self.chip.temperature[1]
        clipped = max(ax, ay, az, gx, gy, gz) == 32767 or min(ax, ay, az, gx, gy, gz) == -32768
        return Sample((ax * a, ay * a, az * a), (gx * g, gy * g, gz * g), temperature, clipped, data)

    @property
    def warning(self) -> str:
        """A warning if the chip is not a genuine MPU6050, else empty."""
        if self.identity in (None, GENUINE_IDENTITY):
            return ""
        known = self.identity in CHIPS
        kind = f"a known clone or relative of the MPU6050 ({self.chip.name})" if known else "an unknown chip"
        return f"WHO_AM_I is 0x{self.identity:02x}, {kind}, not 0x68: accepted, check its scale factors"
