"""A simulated serial device on a pty: the port that a driver opens, noise on its line, unplugging, events in time.

What lives behind the port (`lx_bus.py`, `board.py`, `register_bus.py`) is a subclass: it schedules what the host's
packets do.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import logging
import math
import os
import struct
import sys
import termios
import threading
import time
import tty
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from hexapod_dynamics.drivers.frame_finder import FrameFinder
from hexapod_dynamics.drivers.servos.serial_servos import BITS_PER_BYTE, UART_FIFO
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.errors import DeviceError


def set_timer_slack(nanoseconds: int = 1000) -> None:
    """Let the calling thread's sleeps end on time instead of up to 50 us late (on Linux; no effect elsewhere)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(29, ctypes.c_ulong(nanoseconds), 0, 0, 0)  # PR_SET_TIMERSLACK of linux/prctl.h


_log = logging.getLogger(__name__)


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
    random: Random = field(default_factory=lambda: Random(0))

    def add_noise(self, data: bytes) -> bytes:
        """Return the bytes as they arrive over a bad cable."""
        if not (self.drop_rate or self.flip_rate or self.insert_rate):
            return data
        chance, arrived = self.random, bytearray()
        for byte in data:
            if chance.random() < self.insert_rate:
                arrived.append(chance.randrange(256))
            if chance.random() < self.drop_rate:
                continue
            if chance.random() < self.flip_rate:
                byte ^= 1 << chance.randrange(8)
            arrived.append(byte)
        return bytes(arrived)

    def draw_delay(self) -> float:
        """Draw the additional delay [s] of an answer."""
        return self.late_delay if self.late_rate and self.random.random() < self.late_rate else 0.0


@dataclass(order=True)
class Event:
    """An event at a monotonic time [s]; end: time at which the last byte that causes it has left the host.

    urgent: whether the device's thread wakes for it; other events happen together with the next urgent one.
    """

    when: float
    order: int
    action: Callable[[float], object] = field(compare=False)
    end: float = field(compare=False)
    urgent: bool = field(compare=False, default=True)


class SerialDevice(Worker):
    """A simulated serial device on a pseudo-terminal (pty).

    link: symlink to the pty, the path to open; made again after an unplug. A record beside it names the process that
    serves it (drivers.simulated_port). parser: finds its packets; pause [s]: a silence after which an incomplete packet
    is discarded.
    echoes: whether the adapter may return the host's bytes. session: name of the launch's session. frames, collisions:
    how many there have been on the wire.
    """

    pause, echoes = math.inf, True

    def __init__(self, link: str | os.PathLike, baudrate: int, parser: FrameFinder, session: str = "") -> None:
        super().__init__("serial_device")
        self.link = Path(link)
        self.faults, self.frames, self.collisions = BusFaults(), 0, 0
        self.baudrate, self.byte_time = baudrate, BITS_PER_BYTE / baudrate
        self._parser = parser
        self.host_busy = 0.0  # monotonic time [s] until which the wire carries the host's bytes
        self._session = session
        self._claim: PortClaim | None = None
        self._events: list[Event] = []
        self._order = itertools.count()
        self._master = self._slave = -1
        self._lock = threading.Lock()  # guards the two descriptors
        self._events_lock = threading.Lock()  # guards _events: `schedule` may be called in any thread

    # What a subclass does --------------------------------------------------------------------------------------------

    @abstractmethod
    def execute_frame(self, packet: bytes, end: float) -> None:
        """Take a complete packet of the host, whose last byte leaves it at the monotonic time `end` [s]."""

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes that the host has written at the monotonic time `now` [s], before the noise of the line."""
        if now - self.host_busy > self.pause:
            self._parser.reset()
        self.occupy(len(data), now)
        arrived = self.faults.add_noise(data) if self._same_speed() else bytes(byte & 0x55 for byte in data)
        if self.faults.echo and self.echoes:
            self.schedule(self.host_busy, lambda _: self.send_unaltered(arrived), self.host_busy)
        for packet, behind in self._parser.find(arrived):
            self.execute_frame(packet, self.host_busy - behind * self.byte_time)

    def cut_off(self, until: float) -> None:
        """Forget a packet whose end the host has flushed; `until`: monotonic [s] of the last byte transmitted."""
        self._parser.reset()

    # Life ------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the port and serve it; raises DeviceError where another simulator serves the same link."""
        self.plug_in()
        super().start()

    def stop(self) -> None:
        """Remove the port and end the thread."""
        super().stop()
        self.unplug()
        if self._claim is not None:
            self._claim.release()

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
                    raise self._creation_error(error) from error
            master, slave = os.openpty()
            tty.setraw(slave)
            os.set_blocking(master, False)
            fcntl.ioctl(master, termios.TIOCPKT, struct.pack("i", 1))  # the host's flushes are seen, see `_read_host`
            try:
                fresh = self.link.with_name(f"{self.link.name}.{os.getpid()}")
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(os.ttyname(slave))
                self._claim.name(os.ttyname(slave))
                fresh.replace(self.link)
            except OSError as error:
                os.close(master)
                os.close(slave)
                raise self._creation_error(error) from error
            # The slave stays open here: without it every read of the master would fail until a host has opened it.
            self._master, self._slave = master, slave
        self._wake.set()

    def _creation_error(self, error: OSError) -> DeviceError:
        return DeviceError(
            f"the simulated servo port {self.link} cannot be made ({error}): choose a directory that can be written to"
        )

    def unplug(self) -> None:
        """Pull the adapter: the host's open port reports a hang-up, the link is gone."""
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
        self._wake.set()

    # The wire --------------------------------------------------------------------------------------------------------

    def occupy(self, count: int, now: float) -> None:
        """Reserve the line for `count` bytes of the host."""
        self.host_busy = max(now, self.host_busy) + count * self.byte_time

    def send(self, data: bytes) -> None:
        """Send bytes to the host through the simulated faults of the line; garbage if it has another speed."""
        self.send_unaltered(self.faults.add_noise(data) if self._same_speed() else bytes(byte & 0x2A for byte in data))

    def _same_speed(self) -> bool:
        with self._lock:
            speed = getattr(termios, f"B{self.baudrate}")
            return self._slave >= 0 and termios.tcgetattr(self._slave)[4] == speed

    def _drop_flushed(self, now: float) -> None:
        """Drop the bytes that the host has written and then flushed, except those that its UART already holds."""
        until = min(self.host_busy, now + UART_FIFO * self.byte_time)
        if until < self.host_busy:
            self.host_busy = until
            self.drop_events(until)
            self.cut_off(until)

    def schedule(self, when: float, action: Callable[[float], object], end: float, urgent: bool = True) -> None:
        """Call action(when) in the device's thread at the monotonic time `when` [s]; see Event."""
        with self._events_lock:
            heapq.heappush(self._events, Event(when, next(self._order), action, end, urgent))

    def drop_events(self, until: float) -> None:
        """Remove the events whose cause is a byte of the host after the monotonic time `until` [s]."""
        with self._events_lock:
            self._events = [event for event in self._events if event.end <= until]
            heapq.heapify(self._events)

    def _run(self) -> None:
        set_timer_slack()
        while not self._stopping:
            wait = self._next_urgent() - time.monotonic()
            if wait > 0.0:
                try:
                    readable = self._wake.wait(wait, self._master)
                except OSError:  # unplugged while waiting
                    readable = False
                if readable:
                    self._read_host()
            now = time.monotonic()
            while (event := self._next_due(now)) is not None:
                event.action(event.when)

    def _next_due(self, now: float) -> Event | None:
        with self._events_lock:
            return heapq.heappop(self._events) if self._events and self._events[0].when <= now else None

    def _next_urgent(self) -> float:
        with self._events_lock:
            return min((event.when for event in self._events if event.urgent), default=time.monotonic() + 0.1)

    def _read_host(self) -> None:
        with self._lock:
            try:
                data = os.read(self._master, 4096) if self._master >= 0 else b""
            except OSError:  # nothing there, or just unplugged
                return
        now = time.monotonic()
        status, data = data[:1], data[1:]  # of the pty's packet mode
        if status and status[0] & termios.TIOCPKT_FLUSHWRITE:
            self._drop_flushed(now)
        if data:
            self.receive(data, now)

    def send_unaltered(self, data: bytes) -> None:
        """Send bytes to the host unaltered."""
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
