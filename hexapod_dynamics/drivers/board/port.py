"""The serial port of the STM32 board: one process owns it; a thread reads it and distributes what comes.

Answers of servos go to the thread that has asked; IMU samples, battery, buttons, gamepad and remote control, which the
board sends unasked, go to a listener. RTS and DTR are false before the port is opened: else the board may reset.
"""

from __future__ import annotations

import logging
import math
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hexapod_dynamics.drivers.board import protocol as frames
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, PortSettings
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread

_log = logging.getLogger(__name__)
_PRIORITY = 12  # real-time priority of the reading thread, where permitted
_PROOF = 1.0  # [s] after the opening of the port within which a board must answer or report
_ASK_AGAIN = 0.2  # [s] between two requests during that time, because the board may still be starting
_MUTE = 2.0  # [s] without any frame while servos are asked, after which the port is opened again
_HALF = 0.01  # [s] after which an incomplete frame is noise: the longest frame takes 0.7 ms
_POLL = 0.1  # [s] longest wait of the reading thread
_OWED = 8  # number of unanswered requests that are remembered


@dataclass
class BoardHealth:
    """What was received from the board; any thread may read it. battery: [V], NaN until the board has reported it."""

    frames: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    skipped: int = 0
    battery: float = math.nan
    imu_rate: float = math.nan
    imu_lost: int = 0
    last_frame: float = -math.inf
    opened: int = 0


_FIRST = 64  # samples whose mean period begins the loop
_BLOCK = 16  # samples of which the least delayed one corrects the line
_PHASE, _PERIOD = 0.3, 0.05  # shares of a block's error that move the line, and that change its slope over a block
_MISSED = 0.6  # share of a period; if a whole block is later than this, samples were lost
_RESTART = 0.5  # [s] without a sample, after which everything begins anew


class SampleClock:
    """Estimates from each arrival [monotonic s] when its sample left the device, plus the shortest delay.

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


class ImuSender:
    """Sends samples to the socket at `path`, of the process that publishes them; it never waits."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self.dropped = 0

    def send(self, values: Sequence[float], stamp: float) -> None:
        """Send a sample of the monotonic time `stamp` [s]; it is dropped if no process receives."""
        try:
            self._socket.sendto(frames.SAMPLE.pack(stamp, *values), self._path)
        except OSError:  # nobody receives yet, or the receiver is late
            self.dropped += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class BoardPort(SerialLink):
    """The board behind a serial port.

    first_id: id of the servo that is asked after the opening, to find out whether there is a board. listener(report,
    monotonic [s]): gets what the board sends without a request, in the thread that reads the port; it must not wait.
    """

    def __init__(self, settings: PortSettings, first_id: int = 1) -> None:
        super().__init__(settings, modem_lines=False)
        self.listener: Callable[[frames.Report, float], object] = lambda report, stamp: None
        self.health = BoardHealth()
        self.answer: frames.Answer | None = None  # of the last exchange, even if the answer reports a failure
        self.reply_time = 0.0  # monotonic [s] of the last answer's arrival
        self._first_id = first_id
        self._parser, self._clock = frames.FrameParser(), SampleClock()
        self._answers: deque[tuple[frames.Answer, float]] = deque(maxlen=64)
        # id, command, time at which the request had been sent
        self._owed: deque[tuple[int, int, float]] = deque(maxlen=_OWED)
        self._failure: OSError | None = None  # of the reading thread
        self._reader: threading.Thread | None = None
        self._end = (-1, -1)  # a pipe: a byte in it ends the reading thread

    # The port --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the port for this process alone; BusError where no board answers or reports within a second."""
        super().open()
        self._parser, self._clock = frames.FrameParser(), SampleClock()
        self._answers.clear()
        self._owed.clear()
        self._failure, self.health.last_frame, self.health.skipped = None, -math.inf, 0
        self._end = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(self._fd, self._end[0]), name="board", daemon=True)
        self._reader.start()
        self._await_board()
        self.health.opened += 1

    def _await_board(self) -> None:
        """Ask one servo until any frame of a board has arrived; no motion is commanded before that."""
        end, ask = time.monotonic() + _PROOF, 0.0
        while not math.isfinite(self.health.last_frame):
            now = time.monotonic()
            if self._failure is not None:
                raise self._lost(self._failure)
            if now >= end:
                came = self.health.skipped
                self.close()
                seen = f"{came} bytes that are no frames of it have come" if came else "nothing has come"
                raise BusError(
                    f"servo port {self.port}: no STM32 board within {_PROOF:g} s at {self.baudrate} baud, {seen}: is "
                    "it another device, another baud rate, is the board's supply on? Nothing was moved"
                )
            if now >= ask:
                ask = now + _ASK_AGAIN
                self.send(frames.servo_request(frames.ServoCommand.READ_ID, self._first_id))
            select.select([self._alarm], [], [], 0.01)

    def close(self) -> None:
        """Close the port and end the reading thread."""
        reader, self._reader = self._reader, None
        end, self._end = self._end, (-1, -1)
        if reader is not None:
            os.write(end[1], b"x")
            reader.join()
        super().close()
        for each in end:
            if each >= 0:
                os.close(each)

    # Questions -------------------------------------------------------------------------------------------------------

    def exchange(
        self,
        servo_id: int,
        command: frames.ServoCommand,
        idle: Idle = None,
        timeout: float | None = None,
        line_free: float = 0.0,
    ) -> tuple[int, ...] | None:
        """Ask a servo; return the values of the answer, or None with `fault` set.

        timeout [s]: instead of reply_timeout; it counts from `line_free` [monotonic s], the time at which the
        servos' own line has transmitted everything sent earlier. idle: called after that time; while it returns
        True, the wait continues, for at most `patience`.
        """
        if self._serial is None:
            raise self._not_open()
        self._check_alive()
        while self._answers:
            self._find_late(*self._answers.popleft())
        damaged, skipped = self.health.damaged, self.health.skipped
        self.send(frames.servo_request(command, servo_id))
        sent = max(self.free_at, line_free)
        answer = self._await_answer(servo_id, command, sent, timeout or self.reply_timeout, idle)
        self.answer = answer
        if answer is not None:
            self.fault = None if answer.success == 0 else Fault.TIMEOUT
            return answer.values if answer.success == 0 else None
        self._owed.append((servo_id, command, sent))
        self.strays = len(self._owed)
        if self.health.damaged > damaged:
            self.fault = Fault.CHECKSUM
        else:
            self.fault = Fault.GARBAGE if self.health.skipped > skipped else Fault.TIMEOUT
        return None

    def _await_answer(
        self, servo_id: int, command: int, sent: float, timeout: float, idle: Idle
    ) -> frames.Answer | None:
        waits = ReplyWait(sent, timeout, self.patience, idle)
        while True:
            while self._answers:
                answer, came = self._answers.popleft()
                if answer.servo_id == servo_id and answer.command == command:
                    self.reply_time = came
                    return answer
                if self._find_late(answer, came):  # the awaited answer will be as late
                    waits.extend(sent + min(1.5 * self.lateness, self.patience))
            now = time.monotonic()
            if self.interrupted:
                return None
            left = waits.left(now)
            if left < 0.0:
                self._check_alive()
                return None
            self._wait(left, now, reads=False)
            if self._failure is not None:
                raise self._lost(self._failure)

    def _find_late(self, answer: frames.Answer, came: float) -> bool:
        """Return whether this is the answer to an abandoned request, and store how late it was."""
        for each in self._owed:
            if each[:2] == (answer.servo_id, answer.command):
                self._owed.remove(each)
                self.strays = len(self._owed)
                self.lateness = max(self.lateness, min(came - each[2], self.patience))
                return True
        return False

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise self._lost(self._failure)
        silence = time.monotonic() - self.health.last_frame
        if silence > _MUTE:
            raise self._lost(f"the board has sent nothing for {silence:.1f} s")

    # The reading thread ----------------------------------------------------------------------------------------------

    def _read(self, fd: int, end: int) -> None:
        prefer_this_thread(_PRIORITY)
        parser, last = self._parser, 0.0
        try:
            while True:
                ready = select.select([fd, end], [], [], _HALF if parser.incomplete else _POLL)[0]
                if end in ready:
                    return
                now = time.monotonic()
                if fd in ready:
                    chunk = os.read(fd, 4096)
                    if not chunk:
                        raise OSError("end of file")
                    found, last = parser.feed(chunk), now
                else:
                    found = parser.give_up() if now - last > _HALF else []
                noisy = parser.skipped > self.health.skipped
                self.health.damaged, self.health.skipped = parser.damaged, parser.skipped
                for frame in found:
                    self._sort(frame, now, noisy)
        except (OSError, ValueError) as error:
            self._failure = error if isinstance(error, OSError) else OSError(str(error))
            self._wake()

    def _sort(self, frame: frames.Frame, now: float, noisy: bool) -> None:
        health = self.health
        name = frames.Function(frame.function).name
        health.frames[name] = health.frames.get(name, 0) + 1
        health.last_frame = now
        came = now - frame.behind * self.byte_time
        if frame.function == frames.Function.BUS_SERVO:
            answer = frames.parse_answer(frame.data)
            if answer is not None:
                self._answers.append((answer, came))
                self._wake()
            return
        try:
            report = frames.parse_report(frame.function, frame.data)
            if isinstance(report, frames.ImuValues):
                came = self._clock.stamp(came, noisy)
                health.imu_rate, health.imu_lost = self._clock.rate, self._clock.lost
            elif isinstance(report, frames.Battery):
                health.battery = report.voltage
            if report is not None:
                self.listener(report, came)
        except Exception:  # an error in the listener must not end the only thread that reads the port
            _log.exception("the board's %s frame could not be passed on", name)
