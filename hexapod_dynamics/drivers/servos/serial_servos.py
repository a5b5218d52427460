"""Servos behind a serial port that belongs to this process: what all protocols on such a port share.

It computes the wire time of its own bytes; every wait has a limit.
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import termios
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Sequence

import serial

from hexapod_dynamics.drivers.frame_finder import Answer, FrameFinder, Key
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, PortSettings, ServoInterface
from hexapod_dynamics.drivers.wake import Wake
from hexapod_dynamics.robot.servo_map import CountScale

_log = logging.getLogger(__name__)
PTY_MAJORS = range(136, 144)  # device numbers of pseudo-terminals (Linux, Documentation/admin-guide/devices.txt)
BITS_PER_BYTE = 10  # 8N1: start + 8 + stop
UART_FIFO = 32  # bytes that a UART holds itself; it sends them even if the queue behind it is dropped
LATE_WAKE = 0.002  # [s] if a wait ends this much too late, the machine is too slow or too busy


def explain_open_error(port: str, error: Exception) -> str:
    """Return a message that names the fault of the port and the remedy."""
    number = getattr(error, "errno", None)
    if not os.path.exists(port):
        remedy = 'is the simulator running, or another "port" meant?'
        if port.startswith("/dev/"):
            remedy = 'is the adapter plugged in and the parameter "port" right?'
        return f"servo port {port} does not exist: {remedy}"
    if number == 13 or "Permission" in str(error):
        return (
            f'no permission to open servo port {port}: add the user to the group "dialout" and '
            "log in again; on a Jetson also disable nvgetty"
        )
    if number in (11, 16) or "lock" in str(error):
        return (
            f"servo port {port} is in use by another process: on a JetHexa stop the vendor's autostart "
            "(sudo systemctl stop jethexa_bringup, on an Orin start_app_node) and nvgetty"
        )
    return f"servo port {port} cannot be opened: {error}"


def claim_port(fd: int) -> None:
    """Keep all other processes, except root on the host, from opening this serial port.

    The lock of a file (pyserial's `exclusive`) does not do that between containers: each has a device file of its own.
    Not for a pty: the kernel would keep the mark after a crash, as long as the simulator has the pty open.
    """
    if os.major(os.fstat(fd).st_rdev) not in PTY_MAJORS:
        fcntl.ioctl(fd, termios.TIOCEXCL)


class SerialServos(ServoInterface):
    """Servos behind a serial port; raises BusError when the port fails.

    settings: the port, best a stable path (/dev/serial/by-id/..., a udev link), its speed and its waits; `prove` is
    called before the port is opened and again before the first byte is written. modem_lines: state of RTS and DTR, set
    before the opening; None: as pyserial sets them. turnaround [s]: time of a servo before it answers, unless
    `reply_timeout` includes it. stops_at_damage: whether a servo is asked again at once when its answer comes damaged.
    reads_apart: whether another thread reads the port and feeds the parser.
    """

    modem_lines: bool | None = None
    turnaround = 0.0
    stops_at_damage = reads_apart = False
    _parser: FrameFinder  # of what is received
    _alarm: Wake  # while the port is open: ends a wait for an answer

    def __init__(
        self, settings: PortSettings, ids: Sequence[int], highest_id: int, counts: CountScale | None = None
    ) -> None:
        super().__init__(settings, ids, highest_id, counts)
        self.baudrate = settings.baudrate
        self.byte_time = BITS_PER_BYTE / settings.baudrate
        self._prove = settings.prove
        self._wire = threading.Lock()  # held to send bytes, to switch the direction, and to note what was sent
        self._serial: serial.Serial | None = None
        self._fd = -1
        # Requests that were given up: the key of the answer, the time at which the request had been sent.
        self._owed: deque[tuple[Key, float]] = deque(maxlen=32)

    def open(self) -> None:
        """Open the port for this process alone."""
        device = self._prove() if self._prove is not None else self.port
        try:
            opened = serial.Serial(None, self.baudrate, timeout=0, write_timeout=0.5, exclusive=True)
            if self.modem_lines is not None:
                opened.rts = opened.dtr = self.modem_lines
            opened.port = device
            opened.open()
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise BusError(explain_open_error(self.port, error)) from error
        fd, alarm = opened.fileno(), Wake()
        with self._wire:  # `stop_now` finds the port closed, or with all that belongs to it
            self._serial, self._fd, self._alarm, self.is_open = opened, fd, alarm, True
        try:
            claim_port(fd)
            # The process that made the port still has it open: no other device can have taken its place meanwhile.
            if self._prove is not None and self._prove() != device:
                raise BusError(f"servo port {self.port} changed while it was opened: it will be opened again")
        except (OSError, BusError) as error:
            self.close()
            raise error if isinstance(error, BusError) else BusError(explain_open_error(self.port, error)) from error
        self.free_at = time.monotonic()

    def close(self) -> None:
        """Close the port after everything queued has been transmitted."""
        with self._wire:  # else `stop_now` could write to a descriptor that has been given to another file
            port, self._serial, self._fd, self.is_open = self._serial, None, -1, False
        if port is not None:
            port.close()
            self._alarm.close()

    def _close_lost_port(self, error: object) -> BusError:
        self.close()
        return BusError(f"servo port {self.port} is gone ({error}): it is opened again when it comes back")

    def _not_open_error(self) -> BusError:
        return BusError(f"servo port {self.port} is not open")

    def send(self, frames: bytes | Callable[[], bytes]) -> None:
        """Queue frames for sending and return at once; while the servos are stopped (`stop_now`), nothing is sent.

        frames: or a function that returns them; no stop comes between its call and the sending.
        """
        if self._serial is None:
            raise self._not_open_error()
        try:
            with self._wire:
                if not self.interrupted:
                    self._put(frames() if callable(frames) else frames)
        except OSError as error:  # pyserial's SerialException is one
            raise self._close_lost_port(error) from error

    @abstractmethod
    def _build_stop(self, index: int | None) -> bytes:
        """Return the frames that stop one servo, or all; repeated, because they are not acknowledged."""

    def stop(self, index: int | None = None) -> None:
        """Queue a stop of one servo, or of all, where they are."""
        self.send(lambda: self._build_stop(index))

    def stop_now(self) -> bool:
        """Send stops of all servos before all other frames; return False if the port does not accept them.

        Queued frames are dropped, and nothing else is sent until `resume`. The call does not depend on the thread that
        uses the port.
        """
        waiting, self.interrupted = not self.interrupted, True  # before the lock: who waits for the port gives up
        with self._wire:
            self.interrupted = True
            if self._serial is None:
                return False
            try:
                self._drop_output()
                self._prepare_to_send()
                self._count(os.write(self._fd, self._build_stop(None)))
                if waiting:
                    self._alarm.set()
            # The thread that uses the port notices the failure, too, and opens it again; the driver of a direction pin
            # may raise anything.
            except Exception as error:
                _log.warning("emergency stop could not be sent on servo port %s: %s", self.port, error)
                return False
        return True

    def _prepare_to_send(self) -> None:
        """Switch the line to sending, before bytes are written and after answers have been received."""

    def _put(self, frames: bytes) -> None:
        self._prepare_to_send()
        # Not with pyserial's write, which waits after each call until the port accepts more.
        sent, last = self._write(frames), time.monotonic()
        while sent < len(frames) and not self.interrupted:
            if select.select([], [self._fd], [], 0.002)[1]:  # else a stop is looked for
                sent, last = sent + self._write(frames[sent:]), time.monotonic()
            elif time.monotonic() - last > 0.5:
                raise OSError("it took no byte for 0.5 s")
        self._count(sent)

    def _write(self, frames: bytes) -> int:
        try:
            return os.write(self._fd, frames)
        except BlockingIOError:
            return 0

    def _count(self, sent: int) -> None:
        self.busy_time += sent * self.byte_time
        self.free_at = max(time.monotonic(), self.free_at) + sent * self.byte_time

    def drain(self) -> None:
        """Wait until all queued bytes have been sent."""
        wait = self.free_at - time.monotonic()
        if wait > 0.0:
            time.sleep(wait)
            self.late_wakes += time.monotonic() - self.free_at > LATE_WAKE

    def _drop_output(self) -> None:
        termios.tcflush(self._fd, termios.TCOFLUSH)
        self.free_at = min(self.free_at, time.monotonic() + UART_FIFO * self.byte_time)

    # Requests --------------------------------------------------------------------------------------------------------

    def _exchange(
        self, request: bytes, awaited: Collection[Key], size: int, idle: Idle, timeout: float | None
    ) -> dict[Key, Answer]:
        """Send a request; return the answers that have come, by their keys. `fault` says why one is missing.

        size [bytes]: of an answer on the port. idle, timeout [s]: as in `read`, from when all could have answered.
        """
        if self._serial is None:
            raise self._not_open_error()
        parser, skipped = self._parser, self._parser.skipped
        for stale in self._receive(0.0, time.monotonic()):
            self._find_late(stale)
            self.strays += 1
        if not self.reads_apart:
            parser.reset(echo=request)
        self.strays += parser.skipped - skipped
        damaged, skipped = parser.damaged, parser.skipped
        self.send(request)
        try:
            sent = self._finish_sending()
            found = self._await_answers(sent, awaited, size, idle, timeout)
        finally:
            self._prepare_to_send()
        if len(found) == len(awaited):
            self.fault, self.strays = None, 0
            self._owed.clear()  # the line keeps the order, so answers to earlier requests are lost
            return found
        self._owed.extend((key, sent) for key in awaited if key not in found)
        noisy = parser.skipped > skipped or (parser.incomplete > 0 and not self.reads_apart)
        self.strays += noisy
        without_frame = Fault.GARBAGE if noisy else Fault.TIMEOUT
        self.fault = Fault.CHECKSUM if self._is_damaged(damaged) else without_frame
        return found

    def _await_answers(
        self, sent: float, awaited: Collection[Key], size: int, idle: Idle, timeout: float | None
    ) -> dict[Key, Answer]:
        """Return the answers to a request that had been sent at the monotonic time `sent` [s]; see `_exchange`."""
        found, earliest, over, damaged = dict[Key, Answer](), 0.0, False, self._parser.damaged
        needed = len(awaited) * (size * self.byte_time + self.turnaround)
        deadline = sent + (timeout or self.reply_timeout) + needed
        latest = deadline if idle is None else max(deadline, sent + self.patience)
        while len(found) < len(awaited) and not self.interrupted:
            now = time.monotonic()
            if idle is not None and deadline <= now < latest and idle():
                deadline, over = min(latest, now + 0.004), False
            if over or (self.stops_at_damage and self._is_damaged(damaged)):
                break
            over = now >= deadline  # looked at once more: if this thread was woken too late, the answer is there
            early = min(earliest, deadline) - now
            wait = early if early > 0.0 else max(0.0, deadline - now)
            for answer in self._receive(wait, now, reads=early <= 0.0):
                if answer.key in awaited and answer.alone:
                    found[answer.key] = answer
                elif late := self._find_late(answer):  # the awaited answer will be as late
                    deadline, over = max(deadline, sent + min(1.5 * late, self.patience) + needed), False
                    latest = max(latest, deadline)
                else:
                    self.strays += 1
            begun = 0 if self.reads_apart else self._parser.incomplete
            if begun and len(awaited) == 1:  # do not wake for each byte: the remaining bytes take this time
                earliest = time.monotonic() + (size - begun) * self.byte_time
        return found

    def _is_damaged(self, before: int) -> bool:
        """Whether an answer has come damaged; before: how many frames had been damaged before the request."""
        return self._parser.damaged > before

    def _finish_sending(self) -> float:
        """Return the monotonic time [s] at which all that was sent has left the line, which receives from then on."""
        return self.free_at

    def _find_late(self, answer: Answer) -> float:
        """Return the delay [s], at most `patience`, of an answer to a request that was given up; 0 for another one.

        Without this, a line with delays above `reply_timeout` would never work again: each answer would arrive while
        that of the next servo is awaited (an FTDI USB adapter delivers every 16 ms by default).
        """
        for key, sent in self._owed:
            if key == answer.key:
                self._owed.remove((key, sent))  # one answer is that to one request
                late = min(answer.came - sent, self.patience)
                self.lateness = max(self.lateness, late)
                return late
        return 0.0

    def _receive(self, wait: float, now: float, reads: bool = True) -> list[Answer]:
        """Return the answers that are complete with the bytes of `_wait`."""
        return self._parse(chunk, time.monotonic()) if (chunk := self._wait(wait, now, reads)) else []

    @abstractmethod
    def _parse(self, chunk: bytes, came: float) -> list[Answer]:
        """Return the answers that are complete with these bytes, received at the monotonic time `came` [s]."""

    def _wait(self, wait: float, now: float, reads: bool = True) -> bytes:
        """Return the bytes that come within `wait` [s] from the monotonic time `now` [s], possibly none.

        `stop_now` ends the wait. reads: False leaves the bytes in the port, and only waits.
        """
        try:
            ready = self._alarm.wait(wait, self._fd if reads else -1)
            self.late_wakes += time.monotonic() - now - wait > LATE_WAKE
            if not ready:
                return b""
            chunk = os.read(self._fd, 4096)
        except (OSError, ValueError) as error:
            raise self._close_lost_port(error) from error
        if not chunk:
            raise self._close_lost_port("end of file")
        self.busy_time += len(chunk) * self.byte_time
        return chunk
