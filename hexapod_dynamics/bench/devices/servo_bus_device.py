"""A serial port (pty) behind which LX/HTD servos live, at the pace of a real wire.

Each byte takes ten bit times both ways, a servo answers after its turnaround time, one wire carries both directions
(what overlaps is garbled), what the host flushes before it is on the wire never arrives, and `BusFaults` makes it
misbehave. `VirtualServos` connects physics and bus.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import logging
import os
import random
import select
import struct
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from pathlib import Path

from hexapod_dynamics.bench.devices.timing import set_timer_slack
from hexapod_dynamics.bench.devices.virtual_servos import VirtualServos
from hexapod_dynamics.drivers.servos.lx import frames as lx_frames
from hexapod_dynamics.drivers.servos.lx.frames import Frame
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.errors import DeviceError

_log = logging.getLogger(__name__)
_PAUSE = 0.005  # [s] a servo forgets half a frame after this much silence


@dataclass
class BusFaults:
    """What is wrong with the bus now; change the fields at any time.

    drop_rate, flip_rate, insert_rate: per byte, both directions. late: (probability, seconds) of a late answer.
    silent: servo ids that neither receive nor answer. echo: the host receives its own bytes.
    """

    drop_rate: float = 0.0
    flip_rate: float = 0.0
    insert_rate: float = 0.0
    late_rate: float = 0.0
    late_delay: float = 0.010
    echo: bool = False
    silent: set[int] = field(default_factory=set)
    seed: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def noisy(self, data: bytes) -> bytes:
        """The bytes as they arrive over a bad cable."""
        if not (self.drop_rate or self.flip_rate or self.insert_rate):
            return data
        chance, received = self.random, bytearray()
        for byte in data:
            if chance.random() < self.insert_rate:
                received.append(chance.randrange(256))
            if chance.random() < self.drop_rate:
                continue
            if chance.random() < self.flip_rate:
                byte ^= 1 << chance.randrange(8)
            received.append(byte)
        return bytes(received)


@dataclass
class BusCounters:
    """What happened on the wire so far."""

    bytes_from_host: int = 0
    bytes_to_host: int = 0
    frames: int = 0
    collisions: int = 0
    answers: int = 0


class ServoBusDevice:
    """Servos on a pty; `link` is the stable path to open.

    link: symlink that is made (and replaced after an unplug); a record beside it proves whose it is
    (drivers.simulated_port), session: of the launch. turnaround [s]: from a request's last byte to the
    answer's first. on_frame(frame, time): called in the device's thread for each frame the servos hear.
    """

    def __init__(
        self,
        servos: VirtualServos,
        link: str | os.PathLike,
        *,
        baudrate: int = lx_frames.DEFAULT_BAUDRATE,
        turnaround: float = 0.0003,
        on_frame: Callable[[Frame, float], object] | None = None,
        session: str = "",
    ) -> None:
        self.servos, self.link = servos, Path(link)
        self.faults, self.counters = BusFaults(), BusCounters()
        self.on_frame = on_frame
        self._session = session
        self._claim: PortClaim | None = None
        self._byte_time, self._turnaround = lx_frames.BITS_PER_BYTE / baudrate, turnaround
        self._parser = lx_frames.FrameParser()
        # Heap: time, order, frame, bytes for the host, when the last byte of it comes from the host.
        self._events: list[tuple[float, int, Frame | None, bytes, float]] = []
        self._order = itertools.count()
        self._host_busy = 0.0  # the wire carries the host's bytes until then
        self._spoken: deque[tuple[float, float]] = deque(maxlen=8)  # (begin, end) of the last transmissions
        self._master = self._slave = -1
        self._lock = threading.Lock()  # guards the two descriptors
        self._wake_read, self._wake_write = os.pipe()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="servo_bus_device", daemon=True)

    # Life ------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the port and serve it; raises DeviceError where another simulator serves the same link."""
        self.plug_in()
        self._thread.start()

    def stop(self) -> None:
        """Take the port away and end the thread."""
        self._stopping = True
        os.write(self._wake_write, b"x")
        if self._thread.is_alive():
            self._thread.join(2.0)
        self.unplug()
        if self._claim is not None:
            self._claim.release()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def plug_in(self) -> None:
        """Make a new pty and point the link at it."""
        with self._lock:
            if self._master >= 0:
                return
            if self._claim is None:
                try:
                    self.link.parent.mkdir(parents=True, exist_ok=True)
                    self._claim = PortClaim(self.link, self._session)
                except OSError as error:
                    raise self._cannot_be_made(error) from error
            master, slave = os.openpty()
            tty.setraw(slave)
            os.set_blocking(master, False)
            fcntl.ioctl(master, termios.TIOCPKT, struct.pack("i", 1))  # the host's flushes are seen, see `_hear`
            try:
                fresh = self.link.with_name(f"{self.link.name}.{os.getpid()}")
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(os.ttyname(slave))
                self._claim.name(os.ttyname(slave))
                fresh.replace(self.link)
            except OSError as error:
                os.close(master)
                os.close(slave)
                raise self._cannot_be_made(error) from error
            # The slave stays open here: without it every read of the master would fail until a host has opened it.
            self._master, self._slave = master, slave
        self._poke()

    def _cannot_be_made(self, error: OSError) -> DeviceError:
        return DeviceError(
            f"the simulated servo port {self.link} cannot be made ({error}): choose a directory that can be written to"
        )

    def unplug(self) -> None:
        """Pull the adapter: the host's open port reports a hang-up, the link is missing."""
        with self._lock:
            if self._master < 0:
                return
            if self.link.is_symlink() and os.readlink(self.link) == os.ttyname(self._slave):
                self.link.unlink()
            if self._claim is not None:
                self._claim.name("")
            os.close(self._master)
            os.close(self._slave)
            self._master = self._slave = -1
        self._poke()

    def _poke(self) -> None:
        if not self._stopping:
            os.write(self._wake_write, b"x")

    # The wire --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        set_timer_slack()
        while not self._stopping:
            wait = self._next_urgent() - time.monotonic()
            if wait > 0.0:
                with self._lock:
                    watched = [self._wake_read] + ([self._master] if self._master >= 0 else [])
                try:
                    ready = select.select(watched, [], [], wait)[0]
                except OSError:  # unplugged while waiting
                    ready = []
                if self._wake_read in ready:
                    os.read(self._wake_read, 64)
                    ready.remove(self._wake_read)
                if ready:
                    self._hear()
            now = time.monotonic()
            while self._events and self._events[0][0] <= now:
                self._happen(*heapq.heappop(self._events))

    def _next_urgent(self) -> float:
        # A latched target waits for its start, so it needs no waking of its own: it is taken in order with the next.
        urgent = (
            event[0]
            for event in self._events
            if event[2] is None or event[2].command != lx_frames.Command.MOVE_TIME_WAIT_WRITE
        )
        return min(urgent, default=time.monotonic() + 0.1)

    def _hear(self) -> None:
        with self._lock:
            try:
                data = os.read(self._master, 4096) if self._master >= 0 else b""
            except OSError:  # nothing there, or just unplugged
                return
        now = time.monotonic()
        status, data = data[:1], data[1:]  # of the pty's packet mode
        if status and status[0] & termios.TIOCPKT_FLUSHWRITE:
            self._drop_unsent(now)
        if not data:
            return
        if now - self._host_busy > _PAUSE:
            self._parser.reset()
        begin = max(now, self._host_busy)
        self._host_busy = begin + len(data) * self._byte_time
        self._spoken.append((begin, self._host_busy))
        self.counters.bytes_from_host += len(data)
        received = self.faults.noisy(data)
        if self.faults.echo:
            self._at(self._host_busy, None, received, self._host_busy)
        first, offset = self._host_busy - len(received) * self._byte_time, self._parser.fed
        for frame in self._parser.feed(received):
            when = end = first + max(0, frame.end - offset) * self._byte_time
            if frame.command in lx_frames.READS:
                # Answered when the last byte is out: one waking instead of two for each read.
                when += self._turnaround + lx_frames.reply_size(frame.command) * self._byte_time
                if self.faults.late_rate and self.faults.random.random() < self.faults.late_rate:
                    when += self.faults.late_delay
            self._at(when, frame, b"", end)

    def _drop_unsent(self, now: float) -> None:
        """Forget what the host has written and then flushed, but for what its UART already holds."""
        until = min(self._host_busy, now + lx_frames.UART_FIFO * self._byte_time)
        if until < self._host_busy:
            self._host_busy = until
            self._events = [event for event in self._events if event[4] <= until]
            heapq.heapify(self._events)
            for _ in range(len(self._spoken)):
                begin, end = self._spoken.popleft()
                self._spoken.append((begin, min(end, until)))
            self._parser.reset()

    def _at(self, when: float, frame: Frame | None, data: bytes, end: float) -> None:
        heapq.heappush(self._events, (when, next(self._order), frame, data, end))

    def _happen(self, when: float, _order: int, frame: Frame | None, data: bytes, _end: float) -> None:
        if frame is None:
            self._say(data)
            return
        self.counters.frames += 1
        silent = self.faults.silent
        if frame.servo_id in silent:
            return
        answers = self.servos.execute(frame, when, deaf=silent)
        if self.on_frame is not None:
            self.on_frame(frame, when)
        if answers:
            self._answer(answers, when)

    def _answer(self, answers: list[bytes], end: float) -> None:
        """Put the answers that end at `end` on the one wire."""
        data = answers[0]
        if any(other != data for other in answers[1:]):
            # Open-drain line: a zero of any servo wins.
            self.counters.collisions += 1
            data = bytes(reduce(and_, column) for column in zip(*answers, strict=True))
        begin = end - len(data) * self._byte_time
        if any(since < end and begin < until for since, until in self._spoken):
            self.counters.collisions += 1
            data = bytes(byte & self.faults.random.randrange(256) for byte in data)
        self._spoken.append((begin, end))
        self.counters.answers += 1
        self._say(self.faults.noisy(data))

    def _say(self, data: bytes) -> None:
        with self._lock:
            if self._master < 0:
                return
            try:
                os.write(self._master, data)
            except BlockingIOError:
                _log.debug("nobody reads the simulated servo port: %d bytes lost", len(data))
                return
            except OSError:  # unplugged at this very moment
                return
        self.counters.bytes_to_host += len(data)
