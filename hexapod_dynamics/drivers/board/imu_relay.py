"""Passes the board's IMU samples from the process that owns its port to the one that publishes them.

A datagram socket in a directory that only this user can write to; the clock is CLOCK_MONOTONIC, which all processes of
a computer share. The sender never waits: a sample that no process receives is dropped.
"""

from __future__ import annotations

import math
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hexapod_dynamics.drivers.imu.imu_reader import ImuHealth
from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY, Sample
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread
from hexapod_dynamics.errors import DeviceError

SOCKET = "board_imu.sock"  # name of the socket in the directory of the devices
_SAMPLE = struct.Struct("<d6f")  # monotonic time [s]; ax, ay, az [g], gx, gy, gz [deg/s]
_PRIORITY = 10  # real-time priority of the receiving thread, where permitted
_LOST = 0.5  # [s] without a sample after which the IMU counts as lost
_FROZEN = 10  # identical samples in a row: real ones differ by their noise
_LIMIT = 15.9  # [g] a sample beyond this is at the end of the widest range


def sample_of(values: Sequence[float], raw: bytes = b"") -> Sample:
    """Convert the board's ax, ay, az [g], gx, gy, gz [deg/s] to a sample in SI units; its temperature is NaN."""
    ax, ay, az, gx, gy, gz = values
    g, degree = STANDARD_GRAVITY, math.radians(1.0)
    clipped = max(map(abs, (ax, ay, az))) > _LIMIT
    return Sample((ax * g, ay * g, az * g), (gx * degree, gy * degree, gz * degree), math.nan, clipped, raw)


class ImuSender:
    """Sends samples to the socket at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self.dropped = 0

    def send(self, values: Sequence[float], stamp: float) -> None:
        """Send a sample of the monotonic time `stamp` [s]; it is dropped if no process receives."""
        try:
            self._socket.sendto(_SAMPLE.pack(stamp, *values), self._path)
        except OSError:  # nobody receives yet, or the receiver is late
            self.dropped += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class RelayedImu:
    """Calls on_sample(sample, monotonic time [s]) for each sample that comes, in its own thread; like an ImuReader."""

    def __init__(self, path: Path, on_sample: Callable[[Sample, float], object]) -> None:
        self.path, self.on_sample, self.health = path, on_sample, ImuHealth()
        self.health.last_error = "no IMU samples of the board yet: is the node servos up, with its board?"
        self._same, self._last_raw, self._last_time = 0, b"", -math.inf
        self._stopping = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="imu", daemon=True)

    def start(self) -> None:
        """Create the socket and receive; raises DeviceError if it cannot be created."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            fresh.unlink(missing_ok=True)
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.bind(str(fresh))
            fresh.replace(self.path)  # if there are two receivers, the one that started last receives
        except OSError as error:
            raise DeviceError(f"the socket {self.path} of the board's IMU cannot be made: {error}") from error
        self._socket = receiver
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """End the thread and close the socket."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        self.health.priority = prefer_this_thread(_PRIORITY)
        receiver = self._socket
        while receiver is not None and not self._stopping.is_set():
            if select.select([receiver], [], [], 0.1)[0]:
                self._take(receiver.recv(_SAMPLE.size + 1))
            elif self.health.connected and time.monotonic() - self._last_time > _LOST:
                self.health.connected = False
                self.health.last_error = f"no IMU sample of the board for more than {_LOST} s"
        if receiver is not None:
            receiver.close()

    def _take(self, packet: bytes) -> None:
        if len(packet) != _SAMPLE.size:
            return
        stamp, *values = _SAMPLE.unpack(packet)
        health, raw = self.health, packet[8:]
        if not all(map(math.isfinite, (stamp, *values))):
            health.errors["not finite"] = health.errors.get("not finite", 0) + 1
            return
        self._same = self._same + 1 if raw == self._last_raw else 0
        self._last_raw = raw
        if self._same >= _FROZEN:
            health.frozen += self._same == _FROZEN
            health.connected = False
            health.last_error = f"{self._same + 1} identical samples in a row: the board's IMU stands still"
            return
        if not health.connected:
            health.connected, health.starts = True, health.starts + 1
        elif self._last_time > 0.0:
            health.longest_gap = max(health.longest_gap, stamp - self._last_time)
        self._last_time = stamp
        health.samples += 1
        sample = sample_of(values, raw)
        health.saturated += sample.saturated
        self.on_sample(sample, stamp)
