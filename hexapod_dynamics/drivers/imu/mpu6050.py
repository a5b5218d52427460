"""InvenSense MPU6050 on an I2C bus with the calls of smbus2: start-up with read-back, 14-byte bursts, SI units.

Values are in the chip's axes, as the device reports them: specific force [m/s^2] (+g upward at rest), angular velocity
[rad/s], temperature [deg C]. Registers and figures: MPU-6000/6050 register map 4.2 and product specification 3.4.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_dynamics.drivers.imu.i2c_bus import I2cBus
from hexapod_dynamics.errors import DeviceError

STANDARD_GRAVITY = 9.80665
SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG = 0x19, 0x1A, 0x1B, 0x1C
ACCEL_XOUT_H, SIGNAL_PATH_RESET, PWR_MGMT_1, WHO_AM_I = 0x3B, 0x68, 0x6B, 0x75
SLEEP, DEVICE_RESET, CLOCK_PLL_GYRO_X = 0x40, 0x80, 0x01
BURST = struct.Struct(">7h")  # accel xyz, temperature, gyro xyz from ACCEL_XOUT_H
GYRO_RANGES = {250: 131.0, 500: 65.5, 1000: 32.8, 2000: 16.4}  # deg/s -> LSB per deg/s
ACCEL_RANGES = {2: 16384.0, 4: 8192.0, 8: 4096.0, 16: 2048.0}  # g -> LSB per g
# DLPF setting: accelerometer band [Hz], gyro band [Hz], gyro delay [s]
FILTERS = {
    0: (260, 256, 0.98e-3),
    1: (184, 188, 1.9e-3),
    2: (94, 98, 2.8e-3),
    3: (44, 42, 4.8e-3),
    4: (21, 20, 8.3e-3),
    5: (10, 10, 13.4e-3),
    6: (5, 5, 18.6e-3),
}
GYRO_NOISE = math.radians(0.005)  # [rad/s/sqrt(Hz)]
ACCEL_NOISE = 400e-6 * STANDARD_GRAVITY  # [m/s^2/sqrt(Hz)]
GENUINE = 0x68
MPU6500_CLASS = (0x70, 0x71, 0x73)  # with another temperature formula and a separate accelerometer filter
CLONES = (0x98, 0x72, *MPU6500_CLASS)
_NOISE_BAND = 1.57  # equivalent noise band of a first-order filter


class UnexpectedAnswer(OSError):
    """The exchange succeeded, but the answer cannot be right; it is an OSError because failed exchanges raise
    OSError.
    """


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
            ("dlpf", tuple(FILTERS)),
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
    def gyro_variance(self) -> float:
        """Datasheet noise variance [(rad/s)^2] in the filter's band."""
        return GYRO_NOISE**2 * _NOISE_BAND * FILTERS[self.dlpf][1]

    @property
    def accel_variance(self) -> float:
        """Datasheet noise variance [(m/s^2)^2] in the filter's band."""
        return ACCEL_NOISE**2 * _NOISE_BAND * FILTERS[self.dlpf][0]

    @property
    def delay(self) -> float:
        """Delay of the chip's low-pass filter [s]."""
        return FILTERS[self.dlpf][2]

    @property
    def registers(self) -> dict[int, int]:
        """Registers and values written at start-up, in this order; they must read back."""
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
        self, bus: I2cBus, settings: Mpu6050Settings | None = None, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.settings = settings or Mpu6050Settings()
        self.identity: int | None = None
        self._bus, self._sleep, self._address = bus, sleep, self.settings.address
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
        for register, value in self.settings.registers.items():
            write(self._address, register, value)
        self.verify()

    def verify(self) -> None:
        """Compare the registers with what was written; raises UnexpectedAnswer after a brown-out or a bad write.

        A failed exchange raises another OSError.
        """
        for register, value in self.settings.registers.items():
            found = self._bus.read_byte_data(self._address, register)
            if found != value:
                what = "asleep after a brown-out" if register == PWR_MGMT_1 and found & SLEEP else "not what was set"
                raise UnexpectedAnswer(
                    5, f"register 0x{register:02x} reads 0x{found:02x} instead of 0x{value:02x}: {what}"
                )

    def read(self) -> Sample:
        """Read one burst: a single sampling instant of all axes."""
        data = bytes(self._bus.read_i2c_block_data(self._address, ACCEL_XOUT_H, BURST.size))
        if len(data) != BURST.size:
            raise UnexpectedAnswer(5, f"{len(data)} bytes instead of {BURST.size}")
        ax, ay, az, t, gx, gy, gz = BURST.unpack(data)
        a, g = self._accel_unit, self._gyro_unit
        temperature = t / 333.87 + 21.0 if self.identity in MPU6500_CLASS else t / 340.0 + 36.53
        clipped = max(ax, ay, az, gx, gy, gz) == 32767 or min(ax, ay, az, gx, gy, gz) == -32768
        return Sample((ax * a, ay * a, az * a), (gx * g, gy * g, gz * g), temperature, clipped, data)

    @property
    def warning(self) -> str:
        """A warning if the chip is not a genuine MPU6050, else empty."""
        if self.identity in (None, GENUINE):
            return ""
        kind = "a known clone or relative" if self.identity in CLONES else "an unknown chip"
        return f"WHO_AM_I is 0x{self.identity:02x}, {kind} of the MPU6050 (0x68): accepted, check its scale factors"
