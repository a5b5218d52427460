"""Where the IMU's samples come from: a chip on an I2C bus, which a thread reads, the STM32 board, or a topic."""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hexapod_dynamics.drivers.imu.mpu6050 import (
    MPU6050,
    STANDARD_GRAVITY,
    Chip,
    Mpu6050,
    Mpu6050Settings,
    Sample,
    SocketSMBus,
    UnexpectedAnswer,
    open_bus,
)
from hexapod_dynamics.drivers.servos.board.protocol import SAMPLE
from hexapod_dynamics.drivers.thread_priority import raise_thread_priority
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.errors import DeviceError

_log = logging.getLogger(__name__)
T = TypeVar("T")
_FROZEN_AFTER = 10  # identical bursts in a row: real ones differ by their noise
_VERIFY_INTERVAL = 1.0  # [s] between comparisons of the set-up registers


@dataclass
class ImuHealth:
    """Counters and state of an `ImuReader`; any thread may read it."""

    connected: bool = False
    last_error: str = ""
    warning: str = ""
    unprocessed: str = ""  # why the last sample was not processed
    samples: int = 0
    starts: int = 0  # first samples after a start-up; more than one: the chip was lost and set up again
    frozen: int = 0
    saturated: int = 0
    late: int = 0  # skipped periods, because the bus or the computer was too slow
    longest_gap: float = 0.0  # [s] between two samples
    last_sample: float = math.nan  # monotonic [s] time of the last sample, NaN before the first
    priority: str = ""  # of the reader's thread: what the kernel has permitted
    chip: Chip = MPU6050  # that was found at the last start-up
    errors: dict[str, int] = field(default_factory=dict)

    def count_error(self, kind: str, error: str) -> None:
        """Count an error of a kind, and keep its message."""
        self.errors[kind] = self.errors.get(kind, 0) + 1
        self.last_error = error

    def note_loss(self, error: str) -> None:
        """Note why there are no samples; the time without them is no gap between samples."""
        self.connected, self.last_error, self.last_sample = False, error, math.nan


class ImuSource(Worker):
    """Passes samples on to on_sample(sample, monotonic time [s]), if it has a thread (`_run`) in that thread.

    what: the device, for people. expected: what does not come when there are no samples; remedy: why that may be so at
    the start. The node that receives imu/data_raw of another driver calls `deliver` itself.
    """

    def __init__(
        self, on_sample: Callable[[Sample, float], object], what: str, expected: str = "", remedy: str = ""
    ) -> None:
        super().__init__("imu")
        self.on_sample, self.what, self.health = on_sample, what, ImuHealth()
        self._expected, self._same, self._last_raw = expected, 0, b""
        if expected:
            self.health.last_error = f"no {expected}{remedy}"
        self._late, self._counted = "", (0, 0)

    def _run(self) -> None:
        """Receive or read; failures are tried again until it succeeds. Without a thread of its own, do nothing."""

    def deliver(self, sample: Sample, stamp: float) -> None:
        """Count a sample of the monotonic time `stamp` [s], and pass it on."""
        health = self.health
        if not health.connected:
            health.connected, health.starts = True, health.starts + 1
        if math.isfinite(health.last_sample):
            health.longest_gap = max(health.longest_gap, stamp - health.last_sample)
        health.last_sample, health.samples = stamp, health.samples + 1
        health.saturated += sample.saturated
        try:
            self.on_sample(sample, stamp)
        except Exception as error:  # an error in the consumer must not end the readings
            if not health.unprocessed:
                _log.exception("the consumer of the IMU samples failed")
            health.unprocessed = f"samples are not processed: {type(error).__name__}: {error}"
        else:
            health.unprocessed = ""

    def _stands_still(self, raw: bytes) -> bool:
        """Count identical samples in a row; return whether there are too many."""
        self._same = self._same + 1 if raw == self._last_raw else 0
        self._last_raw = raw
        return self._same >= _FROZEN_AFTER

    def check_timeout(self, now: float) -> None:
        """Note at the monotonic time `now` [s] that no sample has come for a while."""
        if self._expected and self.health.connected and now - self.health.last_sample > 0.5:
            self.health.note_loss(f"no {self._expected} for more than 0.5 s")

    def assess(self) -> tuple[str, list[str]]:
        """Return level ('ok', 'warn', 'error') and what is wrong with the samples."""
        health = self.health
        if not health.connected:
            return ("error", [health.last_error]) if health.last_error else ("warn", ["opening the IMU"])
        words = [text for text in (health.warning, health.unprocessed, self._late) if text]
        return ("warn" if words else "ok"), words

    def figures(self) -> dict[str, object]:
        """Values for the diagnostics, by name with unit; to be called once a second, because it counts late samples."""
        health = self.health
        late, samples = health.late - self._counted[0], health.samples - self._counted[1]
        self._counted = health.late, health.samples
        self._late = ""
        if late > 0.1 * (late + samples):
            left_out = f"{late} of {late + samples} samples were left out"
            self._late = f"{left_out}: this machine is too slow or too busy, or the I2C bus is"
        return {
            "samples": health.samples,
            "starts": health.starts,
            "frozen": health.frozen,
            "saturated": health.saturated,
            "late periods": health.late,
            "longest gap [s]": health.longest_gap,
            "priority of the thread": health.priority,
            "last error": health.last_error,
        } | {f"errors {kind}": count for kind, count in list(health.errors.items())}


def sample_of(values: Sequence[float], raw: bytes = b"") -> Sample:
    """Convert the board's ax, ay, az [g], gx, gy, gz [deg/s] to a sample in SI units; its temperature is NaN."""
    ax, ay, az, gx, gy, gz = values
    g, degree = STANDARD_GRAVITY, math.radians(1.0)
    clipped = max(map(abs, (ax, ay, az))) > 15.9  # at the end of the widest range
    return Sample((ax * g, ay * g, az * g), (gx * degree, gy * degree, gz * degree), math.nan, clipped, raw)


class RelayedImu(ImuSource):
    """Calls on_sample(sample, monotonic time [s]) for each sample that comes, in its own thread; like an ImuReader."""

    def __init__(self, path: Path, on_sample: Callable[[Sample, float], object]) -> None:
        super().__init__(
            on_sample,
            "IMU of the STM32 board",
            "IMU sample of the board",
            " yet: is the node servos up, with its board?",
        )
        self.path = path
        self._socket: socket.socket | None = None

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
        super().start()

    def _run(self) -> None:
        self.health.priority = raise_thread_priority(10)
        receiver = self._socket
        while receiver is not None and not self._stopping:
            if self._wake.wait(0.1, receiver.fileno()):
                self._receive(receiver.recv(SAMPLE.size + 1))
            else:
                self.check_timeout(time.monotonic())

    def _release(self) -> None:
        super()._release()
        if self._socket is not None:
            self._socket.close()

    def _receive(self, packet: bytes) -> None:
        if len(packet) != SAMPLE.size:
            return
        stamp, *values = SAMPLE.unpack(packet)
        health, raw = self.health, packet[8:]
        if not all(map(math.isfinite, (stamp, *values))):
            health.count_error("not finite", "the board's IMU has reported a value that is not finite")
            return
        if self._stands_still(raw):
            health.frozen += self._same == _FROZEN_AFTER
            health.note_loss(f"{self._same + 1} identical samples in a row: the board's IMU stands still")
            return
        self.deliver(sample_of(values, raw), stamp)


class ImuReader(ImuSource):
    """Calls on_sample(sample, monotonic time [s]) `settings.rate` times a second in its own thread.

    bus: number of the I2C bus, or path of the socket of a simulated bus, as text.
    """

    def __init__(self, bus: str, settings: Mpu6050Settings, on_sample: Callable[[Sample, float], object]) -> None:
        super().__init__(on_sample, f"MPU6050 at 0x{settings.address:02x} on I2C bus {bus}")
        self.bus, self.settings = bus, settings
        self._handle: SocketSMBus | None = None
        self._sensor: Mpu6050 | None = None
        self._failures = self._attempts = 0
        self._next_verify = 0.0

    def _run(self) -> None:
        self.health.priority = raise_thread_priority(10)
        period = 1.0 / self.settings.rate
        due = time.monotonic()
        while not self._stopping:
            if self._sensor is None:
                self._sensor = self._open()
                due = time.monotonic()
                continue
            self._tick(self._sensor)
            due += period
            wait = due - time.monotonic()
            if wait > 0.0:
                time.sleep(wait)
            elif wait < -period:
                missed = math.ceil(-wait / period)
                self.health.late += missed
                due += missed * period

    def _release(self) -> None:
        super()._release()
        self._close()

    def _sleep(self, seconds: float) -> None:
        """Sleep until the time is over or the thread is to end."""
        end = time.monotonic() + seconds
        while not self._stopping and (left := end - time.monotonic()) > 0.0:
            self._wake.wait(left)

    def _open(self) -> Mpu6050 | None:
        """Open the bus and set the chip up, after a pause that grows with the attempts; None if it fails."""
        self._sleep((0.0, 0.1, 0.2, 0.5)[min(self._attempts, 3)])
        if self._stopping:
            return None
        self._attempts += 1
        try:
            self._handle = open_bus(self.bus)
            sensor = Mpu6050(self._handle, self.settings, sleep=self._sleep)
            sensor.start()
        except Exception as error:  # smbus2 may be missing
            self._note(error)
            self._close()
            return None
        self._failures = self._attempts = self._same = 0
        self._next_verify = time.monotonic() + _VERIFY_INTERVAL
        self.health.warning, self.health.chip = sensor.warning, sensor.chip
        return sensor

    def _close(self) -> None:
        self._sensor, handle, self._handle = None, self._handle, None
        self.health.connected = False
        if handle is not None:
            try:
                handle.close()
            except OSError as error:
                self._note(error)

    def _note(self, error: Exception) -> None:
        number = getattr(error, "errno", None)
        where = "" if isinstance(error, DeviceError) else f"I2C bus {self.bus}, address 0x{self.settings.address:02x}: "
        self.health.count_error(f"errno {number}" if number else "set-up", f"{where}{error}")

    def _exchange(self, ask: Callable[[], T]) -> T:
        """Return the answer of the chip, which is asked again after errors; raise an UnexpectedAnswer, else the last
        OSError.
        """
        wrong: UnexpectedAnswer | None = None
        for _ in range(3):  # within one period, for single errors
            try:
                return ask()
            except UnexpectedAnswer as error:
                last: OSError = error
                wrong = error
            except OSError as error:
                last = error
            self._note(last)
        raise wrong or last

    def _tick(self, sensor: Mpu6050) -> None:
        try:
            sample = self._exchange(sensor.read)
        except OSError:
            self._failures += 1
            if self._failures >= 3:  # open and set up again
                self._close()
            return
        now = time.monotonic()
        self._failures = 0
        if self._stands_still(sample.raw):
            self.health.frozen += 1
            self.health.last_error = f"{self._same + 1} identical samples in a row: the chip is set up again"
            self._close()
        elif now >= self._next_verify and not self._is_set_up(sensor, now):
            self._close()
        else:
            self.deliver(sample, now)

    def _is_set_up(self, sensor: Mpu6050, now: float) -> bool:
        """Compare the chip's registers with what was written; after a brown-out the chip answers, but is asleep.

        A failed exchange is no answer: the chip is asked again in the next period. Whether the bus is lost is decided
        by the failed bursts (`_tick`).
        """
        try:
            self._exchange(sensor.verify)
            self._next_verify = now + _VERIFY_INTERVAL
        except OSError as error:
            return not isinstance(error, UnexpectedAnswer)
        return True
