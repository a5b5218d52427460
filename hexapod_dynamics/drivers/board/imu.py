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

from hexapod_dynamics.drivers.imu.mpu6050 import STANDARD_GRAVITY, Sample
from hexapod_dynamics.drivers.imu.reader import ReceivedImu
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread
from hexapod_dynamics.errors import DeviceError

_FIRST = 64  # samples whose mean period begins the loop
_BLOCK = 16  # samples of which the least delayed one corrects the line
_PHASE, _PERIOD = 0.3, 0.05  # shares of a block's error that move the line, and that change its slope over a block
_MISSED = 0.6  # share of a period; if a whole block is later than this, samples were lost
_RESTART = 0.5  # [s] without a sample, after which everything begins anew


class SampleClock:
    """Estimates for each arrival [monotonic s] the time at which its sample left the device, plus the shortest
    delay.

    No time is later than its arrival, and times never decrease.
    """

    def __init__(self) -> None:
        self.lost = 0  # samples that seem to be lost
        self._last_arrival = self._last_stamp = -math.inf
        self._restart(math.nan)

    def _restart(self, arrival: float) -> None:
        self.period = math.nan  # [s], NaN until the loop runs
        self._begin, self._count = arrival, 0
        self._line = math.nan
        self._earliest, self._in_block = math.inf, 0  # least delay of the block [s], relative to the line

    @property
    def rate(self) -> float:
        """Samples a second, NaN before it is known."""
        return 1.0 / self.period if self.period > 0.0 else math.nan

    def stamp(self, arrival: float, noisy: bool = False) -> float:
        """Return the time of the sample that has come at `arrival` [s]; noisy: bytes before it were damaged."""
        if arrival - self._last_arrival > _RESTART:
            self._restart(arrival)
        self._last_arrival = arrival
        stamp = arrival if math.isnan(self.period) else min(self._follow(arrival, noisy), arrival)
        if math.isnan(self.period):
            self._count += 1
            if self._count > _FIRST:
                self.period, self._line = (arrival - self._begin) / (self._count - 1), arrival
        self._last_stamp = max(stamp, self._last_stamp)
        return self._last_stamp

    def _follow(self, arrival: float, noisy: bool) -> float:
        """Return the line's time for the next sample, and correct the line at the end of a block."""
        self._line += self.period
        if noisy and arrival - self._line > _MISSED * self.period:
            self._pass_over(arrival - self._line)
        stamp = self._line
        self._earliest = min(self._earliest, arrival - self._line)
        self._in_block += 1
        if self._in_block == _BLOCK:
            if self._earliest > _MISSED * self.period:
                self._pass_over(self._earliest)
            else:
                self._line += _PHASE * self._earliest
                self.period += _PERIOD * self._earliest / _BLOCK
            self._earliest, self._in_block = math.inf, 0
        return stamp

    def _pass_over(self, late: float) -> None:
        """Move the line by the samples that are missing in this time [s]."""
        missed = max(1, round(late / self.period))
        self._line += missed * self.period
        self.lost += missed


SOCKET = "board_imu.sock"  # name of the socket in the directory of the devices
_SAMPLE = struct.Struct("<d6f")  # monotonic time [s]; ax, ay, az [g], gx, gy, gz [deg/s]
_PRIORITY = 10  # real-time priority of the receiving thread, where permitted
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


class RelayedImu(ReceivedImu):
    """Calls on_sample(sample, monotonic time [s]) for each sample that comes, in its own thread; like an ImuReader."""

    def __init__(self, path: Path, on_sample: Callable[[Sample, float], object]) -> None:
        super().__init__(on_sample, "IMU sample of the board", " yet: is the node servos up, with its board?")
        self.path = path
        self._same, self._last_raw = 0, b""
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
                self._receive(receiver.recv(_SAMPLE.size + 1))
            else:
                self.check_timeout(time.monotonic())
        if receiver is not None:
            receiver.close()

    def _receive(self, packet: bytes) -> None:
        if len(packet) != _SAMPLE.size:
            return
        stamp, *values = _SAMPLE.unpack(packet)
        health, raw = self.health, packet[8:]
        if not all(map(math.isfinite, (stamp, *values))):
            health.count_error("not finite", "the board's IMU has reported a value that is not finite")
            return
        self._same = self._same + 1 if raw == self._last_raw else 0
        self._last_raw = raw
        if self._same >= _FROZEN:
            health.frozen += self._same == _FROZEN
            health.lose(f"{self._same + 1} identical samples in a row: the board's IMU stands still")
            return
        self.deliver(sample_of(values, raw), stamp)
