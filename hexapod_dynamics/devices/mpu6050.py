"""A simulated MPU6050: register map, ranges, low-pass filter, noise, bias, saturation, and its faults.

`VirtualMpu6050` is the chip, `I2cBusDevice` its bus, served through a local socket at the speed of a real wire.
"""

from __future__ import annotations

import math
import os
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.devices.serial_device import set_timer_slack
from hexapod_dynamics.drivers.imu import mpu6050 as chip
from hexapod_dynamics.drivers.imu.mpu6050 import READ_BLOCK, READ_BYTE, REQUEST_FORMAT, WRITE_BYTE
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.errors import DeviceError

_GYRO_LSB = [lsb / math.radians(1.0) for lsb in chip.GYRO_RANGES.values()]  # per rad/s
_ACCEL_LSB = [lsb / chip.STANDARD_GRAVITY for lsb in chip.ACCEL_RANGES.values()]  # per m/s^2
_ADDRESS = 0x68  # on the I2C bus


@dataclass
class I2cFaults:
    """The active faults of the exchanges with the chip.

    error_rate: share of exchanges that fail with one of `errors` (errno). locked: all fail (SDA low). absent: no
    answer.
    """

    error_rate: float = 0.0
    errors: tuple[int, ...] = (5, 110, 121)
    locked: bool = False
    absent: bool = False
    random: Random = field(default_factory=lambda: Random(0))

    def draw_error(self) -> int:
        """Return the errno with which this exchange fails, 0 if it succeeds."""
        if self.absent:
            return 121
        if self.locked:
            return 110
        return self.random.choice(self.errors) if self.random.random() < self.error_rate else 0


class VirtualMpu6050:
    """The chip: the physics sets specific force and angular velocity in chip axes, the bus reads and writes registers.

    gyro_bias (3,) [rad/s], accel_bias (3,) [m/s^2]: zero-rate and zero-g offsets. drift (3,) [rad/s^2]: of the gyro
    bias. identity: WHO_AM_I. shake [m/s^2]: added to the specific force. Times are monotonic seconds.
    """

    def __init__(
        self,
        *,
        gyro_bias: npt.ArrayLike = (0.021, -0.034, 0.012),
        accel_bias: npt.ArrayLike = (0.04, -0.03, 0.10),
        noise: float = 1.0,
        identity: int = chip.GENUINE_IDENTITY,
        seed: int = 0,
    ) -> None:
        self.gyro_bias, self.accel_bias = np.array(gyro_bias, float), np.array(accel_bias, float)
        self.drift = np.zeros(3)
        self.shake = 0.0  # [m/s^2] added to the specific force
        self.identity, self.noise = identity, noise
        self.faults = I2cFaults()
        self.lock = threading.Lock()
        self._random = np.random.default_rng(seed)
        self._force, self._rate, self._temperature = np.array([0.0, 0.0, chip.STANDARD_GRAVITY]), np.zeros(3), 31.0
        self._filtered = np.concatenate([self._force, self._rate])
        self._motion_time = self._drift_time = math.nan  # [s] last `set_motion`, last bias drift
        self._registers = bytearray(128)
        self._sampled = -math.inf
        self._reset()

    def _reset(self) -> None:
        self._registers[:] = bytes(128)
        self._registers[chip.PWR_MGMT_1] = chip.SLEEP
        self._registers[chip.WHO_AM_I] = self.identity

    def set_identity(self, identity: int) -> None:
        """Set the value of WHO_AM_I."""
        with self.lock:
            self.identity = self._registers[chip.WHO_AM_I] = identity

    def brown_out(self) -> None:
        """Supply dip: every register returns to its reset value; the chip sleeps with frozen data and still answers."""
        with self.lock:
            data = self._registers[chip.ACCEL_XOUT_H : chip.ACCEL_XOUT_H + 14]
            self._reset()
            self._registers[chip.ACCEL_XOUT_H : chip.ACCEL_XOUT_H + 14] = data

    def set_motion(self, force: npt.ArrayLike, rate: npt.ArrayLike, t: float, temperature: float | None = None) -> None:
        """Set the mean specific force (3,) [m/s^2] and angular velocity (3,) [rad/s] since the last call, chip axes."""
        with self.lock:
            bands = self._bands()
            interval = 0.0 if math.isnan(self._motion_time) else max(0.0, t - self._motion_time)
            self._force[:], self._rate[:], self._motion_time = force, rate, t
            for part, band, value in ((slice(0, 3), bands[0], self._force), (slice(3, 6), bands[1], self._rate)):
                share = 1.0 - math.exp(-2.0 * math.pi * band * interval)
                self._filtered[part] += share * (value - self._filtered[part])
            if temperature is not None:
                self._temperature = temperature

    def read(self, register: int, count: int, t: float) -> bytes:
        """Read `count` consecutive registers at time t."""
        with self.lock:
            self._sample(t)
            return bytes(self._registers[(register + i) % 128] for i in range(count))

    def write(self, register: int, value: int) -> None:
        """Write a register; a reset takes effect at once, read-only registers keep their values."""
        with self.lock:
            if register == chip.PWR_MGMT_1 and value & chip.DEVICE_RESET:
                self._reset()
            elif register < 128 and register != chip.WHO_AM_I and not 0x3A <= register <= 0x60:
                self._registers[register] = 0 if register == chip.SIGNAL_PATH_RESET else value

    @property
    def _kind(self) -> chip.Chip:
        return chip.CHIPS.get(self.identity, chip.MPU6050)

    def _bands(self) -> tuple[float, float]:
        """Bands [Hz] of accelerometer and gyro, as their filters are set."""
        setting = min(self._registers[chip.CONFIG] & 7, 6)
        own = min(self._registers[chip.ACCEL_CONFIG_2] & 7, 6) if self._kind.own_filter else setting
        return self._kind.accel_bands[own], self._kind.gyro_filters[setting][0]

    def _sample(self, t: float) -> None:
        if self._registers[chip.PWR_MGMT_1] & chip.SLEEP:
            return
        dlpf = min(self._registers[chip.CONFIG] & 7, 6)
        period = (1 + self._registers[chip.SMPLRT_DIV]) / (8000.0 if dlpf == 0 else 1000.0)
        if t - self._sampled < period:
            return
        # The chip samples at instants of its own, so that a faster reader gets the same sample twice.
        self._sampled = t if t - self._sampled > 1.0 else self._sampled + period * int((t - self._sampled) / period)
        if not math.isnan(self._drift_time):
            self.gyro_bias += self.drift * (t - self._drift_time)
        self._drift_time = t
        gyro_lsb = _GYRO_LSB[self._registers[chip.GYRO_CONFIG] >> 3 & 3]
        accel_lsb = _ACCEL_LSB[self._registers[chip.ACCEL_CONFIG] >> 3 & 3]
        bands, kind = self._bands(), self._kind
        noise = self._random.standard_normal(6) * self.noise
        noise[:3] *= kind.accel_noise * math.sqrt(1.57 * bands[0])
        noise[3:] *= kind.gyro_noise * math.sqrt(1.57 * bands[1])
        accel = self._filtered[:3] + self.accel_bias + self.shake + noise[:3]
        gyro = self._filtered[3:] + self.gyro_bias + noise[3:]
        unit, zero = kind.temperature
        counts = [*(accel * accel_lsb), (self._temperature - zero) * unit, *(gyro * gyro_lsb)]
        clipped = np.clip(np.floor(np.array(counts) + 0.5), -32768, 32767).astype(int)
        self._registers[chip.ACCEL_XOUT_H : chip.ACCEL_XOUT_H + 14] = chip.BURST_FORMAT.pack(*clipped.tolist())


class I2cBusDevice(Worker):
    """Serves the chip over the socket at `path`."""

    def __init__(self, sensor: VirtualMpu6050, path: str | os.PathLike) -> None:
        super().__init__("i2c_bus_device")
        self.sensor, self.path, self.faults = sensor, Path(path), sensor.faults
        self._selector = selectors.DefaultSelector()
        self._server: socket.socket | None = None

    def start(self) -> None:
        """Create the socket and serve it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(str(self.path))
        except OSError as error:
            raise DeviceError(
                f"the simulated I2C bus {self.path} cannot be created ({error}): choose a writable directory "
                "with a path shorter than 100 characters"
            ) from error
        server.listen(4)
        self._selector.register(server, selectors.EVENT_READ)
        self._server = server
        super().start()

    def stop(self) -> None:
        """Close the socket and end the thread."""
        super().stop()
        for key in list((self._selector.get_map() or {}).values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self.path.unlink(missing_ok=True)

    def _run(self) -> None:
        set_timer_slack()
        while not self._stopping:
            for key, _ in self._selector.select(0.2):
                if self._server is not None and key.fileobj is self._server:
                    self._selector.register(self._server.accept()[0], selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self._serve(key.fileobj)

    def _serve(self, connection: socket.socket) -> None:
        try:
            request = connection.recv(64)
            if len(request) == REQUEST_FORMAT.size:
                connection.send(self._answer(*REQUEST_FORMAT.unpack(request)))
                return
        except OSError:  # the client has ended
            pass
        self._selector.unregister(connection)
        connection.close()

    def _answer(self, operation: int, address: int, register: int, value: int) -> bytes:
        count = min(value, 32) if operation == READ_BLOCK else 1
        # Address, register, (address again,) data: nine clocks each, at 100 kHz.
        time.sleep((3 + count if operation != WRITE_BYTE else 3) * 9e-5)
        error = self.faults.draw_error() if address == _ADDRESS else 121
        if error:
            return bytes((error,))
        if operation == WRITE_BYTE:
            self.sensor.write(register, value)
            return b"\0"
        if operation in (READ_BLOCK, READ_BYTE):
            return b"\0" + self.sensor.read(register, count, time.monotonic())
        return bytes((95,))  # EOPNOTSUPP
