"""A half-duplex servo bus on a serial port: sends frames, reads one servo, reports why an answer failed.

`ServoBus` is used by one thread at a time (the chain's bus thread, or a tool); only `interrupt` is for any thread. It
computes the wire time of its own bytes, so that it never waits for an answer before its request has been sent; every
wait has a limit.
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import termios
import threading
import time
from collections import deque
from typing import Any

import serial

from hexapod_dynamics.drivers.servos.interface import BusError, Fault, no_reply
from hexapod_dynamics.drivers.servos.lx import frames as lx_frames
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.frames import Command
from hexapod_dynamics.drivers.servos.lx.line_direction import AdapterDirection, Direction

_log = logging.getLogger(__name__)
PTY_MAJORS = range(136, 144)  # device numbers of pseudo-terminals (Linux, Documentation/admin-guide/devices.txt)
_STUCK = 0.5  # [s] for which a port may take no bytes
_LATE = 0.002  # [s] a wait that ends so much after its time is one of a machine that is too slow or too busy
_OWED = 32  # requests without an answer that are remembered
_LATENESS = 1.5  # so many times the delay of an answer that came late are waited for the next one


def explain_open_error(port: str, error: Exception) -> str:
    """Return a message that names the fault of the port and the remedy."""
    number = getattr(error, "errno", None)
    if not os.path.exists(port):
        return (
            f'servo port {port} does not exist: is the adapter plugged in and the parameter "port" right, or, for '
            "the simulated robot, is the simulator up?"
        )
    if number == 13 or "Permission" in str(error):
        return (
            f'servo port {port} is not ours to open (permission denied): add the user to the group "dialout" and '
            "log in again; on a Jetson also disable nvgetty"
        )
    if number in (11, 16) or "lock" in str(error):
        return (
            f"servo port {port} is in use by another process: on a JetHexa stop the vendor's autostart "
            "(systemctl stop jethexa_bringup) and nvgetty"
        )
    return f"servo port {port} cannot be opened: {error}"


def claim(fd: int) -> None:
    """Let no other process open this serial port, root of the host excepted.

    The lock of a file (pyserial's `exclusive`) does not do that between containers: each has a device file of its own.
    Not for a pty: the kernel would keep the mark after a crash, as long as the simulator has the pty open.
    """
    if os.major(os.fstat(fd).st_rdev) not in PTY_MAJORS:
        fcntl.ioctl(fd, termios.TIOCEXCL)


class ServoBus:
    """A serial port with LX/HTD servos on it.

    port: device path, best a stable one (/dev/serial/by-id/..., a udev link). reply_timeout and patience [s] (see
    `exchange`) count from the moment the request has left the wire. prove(): called before the port is opened and
    again before the first byte is written; returns the device behind the path, or raises BusError if it is not the
    intended one. Raises BusError when the port fails, NoReply when a servo does.
    """

    def __init__(
        self,
        port: str,
        baudrate: int = lx_frames.DEFAULT_BAUDRATE,
        direction: Direction | None = None,
        reply_timeout: float = 0.006,
        patience: float = 0.05,
        prove: Any = None,
    ) -> None:
        self.port = port
        self.byte_time = lx_frames.BITS_PER_BYTE / baudrate
        self.reply_timeout, self.patience = reply_timeout, patience
        self.bytes_sent = 0
        self.bytes_received = 0
        self.fault: Fault | None = None  # of the last exchange
        self.reply_time = 0.0  # monotonic [s] of the last answer's arrival
        self.late_wakes = 0  # waits that ended late, through no fault of a servo
        # What came that was no answer to the request: bytes since the last good answer, and the longest time [s] from a
        # request that was given up to its answer, since the user of the bus has set it to zero.
        self.strays, self.lateness = 0, 0.0
        self._owed: deque[tuple[bytes, float]] = deque(
            maxlen=_OWED
        )  # given up: an answer's begin, when the request was out
        self._baudrate = baudrate
        self._direction = direction or AdapterDirection()
        self._prove = prove
        # Set by `interrupt`, cleared by the thread that uses the bus: until then, that thread's frames are dropped and
        # its waits for answers end.
        self.interrupted = False
        self._alarm = self._ring = -1  # a pipe while the port is open: a byte in it ends a wait for an answer
        self._wire = threading.Lock()  # held to send bytes or to switch the direction
        self._serial: serial.Serial | None = None
        self._fd = -1
        self._wire_free = 0.0  # monotonic [s] at which our last byte is out

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._serial is not None

    @property
    def wire_free(self) -> float:
        """Monotonic time [s] at which everything sent so far is out."""
        return self._wire_free

    def open(self) -> None:
        """Open the port for this process alone."""
        device = self._prove() if self._prove is not None else self.port
        try:
            self._serial = serial.Serial(device, self._baudrate, timeout=0, write_timeout=0.5, exclusive=True)
        except (OSError, ValueError) as error:  # SerialException is an OSError
            self._serial = None
            raise BusError(explain_open_error(self.port, error)) from error
        self._fd = self._serial.fileno()
        self._alarm, self._ring = os.pipe()
        try:
            claim(self._fd)
        except OSError as error:
            self.close()
            raise BusError(explain_open_error(self.port, error)) from error
        if self._prove is not None:
            # Whoever made the port still has it open: no other device can have taken its place before ours opened it.
            try:
                same = self._prove() == device
            except BusError:
                self.close()
                raise
            if not same:
                self.close()
                raise BusError(f"servo port {self.port} changed while it was opened: it will be opened again")
        self._wire_free = time.monotonic()
        self._direction.send()

    def close(self) -> None:
        """Close the port; what has been sent goes out first."""
        with self._wire:  # `interrupt` then writes to no number that another file may have next
            port, self._serial, self._fd = self._serial, None, -1
            pipe, self._alarm, self._ring = (self._alarm, self._ring), -1, -1
        if port is not None:
            port.close()
            for end in pipe:
                os.close(end)

    def release(self) -> None:
        """Close the port and give back the direction pins."""
        self.close()
        self._direction.close()

    def _lost(self, error: object) -> BusError:
        self.close()
        return BusError(f"servo port {self.port} is gone ({error}): it is opened again when it comes back")

    def send(self, frames: bytes) -> None:
        """Queue frames for sending and return at once. While the bus is interrupted, nothing is sent."""
        if self._serial is None:
            raise BusError(f"servo port {self.port} is not open")
        try:
            with self._wire:
                if not self.interrupted:
                    self._put(frames)
        except OSError as error:  # pyserial's SerialException is one
            raise self._lost(error) from error

    def interrupt(self, frames: bytes) -> bool:
        """Send frames before all others, from any thread; return False if the port does not accept them.

        Queued frames are dropped, and nothing else is sent until `interrupted` is cleared. The call does not depend on
        the thread that uses the bus.
        """
        with self._wire:
            waiting = not self.interrupted
            self.interrupted = True
            if self._serial is None:
                return False
            try:
                self._drop_output()
                if self._direction.needs_drain:
                    self._direction.send()
                self._count(os.write(self._fd, frames))
                if waiting:
                    os.write(self._ring, b"1")
            except (OSError, termios.error) as error:  # the thread that uses the bus finds it, too, and opens it again
                _log.warning("servo port %s takes no stop: %s", self.port, error)
                return False
        return True

    def _put(self, frames: bytes) -> None:
        if self._direction.needs_drain:
            self._direction.send()
        # Not by pyserial, which waits after each write until the port takes more.
        sent = self._write(frames)
        while sent < len(frames):
            if not select.select([], [self._fd], [], _STUCK)[1]:
                raise OSError(f"it took no byte for {_STUCK} s")
            sent += self._write(frames[sent:])
        self._count(sent)

    def _write(self, frames: bytes) -> int:
        try:
            return os.write(self._fd, frames)
        except BlockingIOError:
            return 0

    def _count(self, sent: int) -> None:
        self.bytes_sent += sent
        self._wire_free = max(time.monotonic(), self._wire_free) + sent * self.byte_time

    def drain(self) -> None:
        """Wait until all queued bytes have been sent."""
        wait = self._wire_free - time.monotonic()
        if wait > 0.0:
            time.sleep(wait)
            self.late_wakes += time.monotonic() - self._wire_free > _LATE
        if self._direction.needs_drain:
            try:
                self._serial.flush()
            except (OSError, termios.error) as error:
                raise self._lost(error) from error

    def discard_output(self) -> None:
        """Drop all bytes that are queued and not sent yet."""
        if self._serial is None:
            raise BusError(f"servo port {self.port} is not open")
        try:
            with self._wire:
                self._drop_output()
        except (OSError, termios.error) as error:
            raise self._lost(error) from error

    def _drop_output(self) -> None:
        termios.tcflush(self._fd, termios.TCOFLUSH)
        self._wire_free = min(self._wire_free, time.monotonic() + lx_frames.UART_FIFO * self.byte_time)

    def exchange(self, servo_id: int, command: int, idle: Any = None, timeout: float | None = None) -> bytes | None:
        """Send one request; return the payload of the answer, or None with `fault` set.

        timeout [s]: instead of reply_timeout. idle: called after that time; while it returns True, the wait continues,
        for at most `patience`: on a busy machine a simulated servo answers late, and a late answer would disturb the
        next exchange.
        """
        if self._serial is None:
            raise BusError(f"servo port {self.port} is not open")
        self._discard_input()
        self.send(lx.read_request(servo_id, command))
        if self._direction.needs_drain:
            self.drain()
            try:
                with self._wire:
                    if not self.interrupted:  # else the frames of `interrupt` are going out
                        self._direction.listen()
                return self._await(servo_id, command, idle, timeout or self.reply_timeout)
            finally:
                self._direction.send()
        return self._await(servo_id, command, idle, timeout or self.reply_timeout)

    def read(self, servo_id: int, command: int, retries: int = 2) -> Any:
        """Send a request up to 1 + retries times; return the value with units, or raise NoReply."""
        for _ in range(1 + retries):
            payload = self.exchange(servo_id, command)
            if payload is not None:
                return lx.decode(command, payload)
        raise no_reply(servo_id, Command(command).name, 1 + retries, self.fault)

    def _discard_input(self) -> None:
        try:
            while stale := os.read(self._fd, 4096):  # empty where nothing is there: pyserial sets VMIN and VTIME to 0
                self.bytes_received += len(stale)
                self.strays += len(stale)
                self._find_late(stale)
        except (OSError, ValueError) as error:
            if isinstance(error, BusError):
                raise
            raise self._lost(error) from error

    def _find_late(self, received: bytes) -> float:
        """Find answers to requests that were given up; return the longest delay [s] of one, at most `patience`.

        Without it a line that is later than `reply_timeout` would never answer again: each answer would come while the
        next servo's is awaited (a USB adapter of FTDI delivers every 16 ms as it is delivered).
        """
        late, now = 0.0, time.monotonic()
        for each in [each for each in self._owed if each[0] in received]:
            self._owed.remove(each)
            late = max(late, min(now - each[1], self.patience))
        self.lateness = max(self.lateness, late)
        return late

    def _await(self, servo_id: int, command: int, idle: Any, timeout: float) -> bytes | None:
        size = lx_frames.reply_size(command)
        deadline = self._wire_free + timeout + size * self.byte_time
        latest = deadline if idle is None else max(deadline, self._wire_free + self.patience)
        received, earliest, over = b"", 0.0, False
        while True:
            now = time.monotonic()
            if self.interrupted:
                break
            if now >= deadline and now < latest and idle():
                deadline, over = min(latest, now + 0.004), False
            if over:
                break
            # Past the deadline the answer may be there all the same, if this thread has slept longer than it wanted:
            # it looks once more.
            over = now >= deadline
            early = now < earliest
            wait = 0.0 if over else (earliest if early else deadline) - now
            try:
                ready = select.select([self._alarm] if early else [self._fd, self._alarm], [], [], wait)[0]
                self.late_wakes += time.monotonic() - now - wait > _LATE
                if self._alarm in ready:
                    os.read(self._alarm, 4096)
                if self._fd not in ready:
                    continue
                chunk = os.read(self._fd, 4096)
            except (OSError, ValueError) as error:
                raise self._lost(error) from error
            if not chunk:
                raise self._lost("end of file")
            self.bytes_received += len(chunk)
            received += chunk
            if len(received) < size:
                # No wake for each byte: the rest takes this time.
                earliest = min(time.monotonic() + (size - len(received)) * self.byte_time, deadline)
                continue
            payload = lx_frames.find_reply(received, servo_id, command)
            if payload is not None:
                self.reply_time = time.monotonic()
                self.fault, self.strays = None, 0
                self._owed.clear()  # the line keeps the order: what was asked before is lost
                return payload
            self.strays += len(chunk)
            if lx_frames.has_damaged_reply(received, servo_id, command):
                self.fault = Fault.CHECKSUM
                return None
            if self._owed and (late := self._find_late(received)):
                # This answer will be as late.
                deadline = max(deadline, self._wire_free + min(_LATENESS * late, self.patience) + size * self.byte_time)
                latest, over = max(latest, deadline), False
        self._owed.append((lx_frames.reply_begin(servo_id, command), self._wire_free))
        # Other complete frames (the own echo, a late answer of another servo) do not count as an answer.
        parser = lx_frames.FrameParser()
        parser.feed(received)
        parser.reset()
        self.fault = Fault.GARBAGE if parser.skipped_bytes else Fault.TIMEOUT
        return None
