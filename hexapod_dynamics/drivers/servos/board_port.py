"""The serial port of the STM32 board: one process owns it; a thread reads it and distributes what comes.

Answers of servos go to the thread that has asked; IMU samples, battery, buttons, gamepad and remote control, which the
board sends unasked, go to a listener. RTS and DTR are false before the port is opened: else the board may reset.
"""

from __future__ import annotations

import logging
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hexapod_dynamics.drivers.frame_finder import FrameFinder
from hexapod_dynamics.drivers.servos import board_protocol as frames
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, PortSettings
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread

_log = logging.getLogger(__name__)


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


class SampleClock:
    """Estimates from each arrival [monotonic s] when its sample left the device, plus the shortest delay.

    A line with the mean period of the first samples is corrected by the least delayed of each 16 samples. No time is
    later than its arrival, and times never decrease; after a pause of half a second everything begins anew.
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
        if arrival - self._last_arrival > 0.5:
            self._restart(arrival)
        self._last_arrival = arrival
        stamp = arrival if math.isnan(self.period) else min(self._follow(arrival, noisy), arrival)
        if math.isnan(self.period):
            self._count += 1
            if self._count > 64:
                self.period, self._line = (arrival - self._begin) / (self._count - 1), arrival
        self._last_stamp = max(stamp, self._last_stamp)
        return self._last_stamp

    def _follow(self, arrival: float, noisy: bool) -> float:
        """Return the line's time for the next sample, and correct the line at the end of a block."""
        self._line += self.period
        if noisy and arrival - self._line > 0.6 * self.period:
            self._pass_over(arrival - self._line)
        stamp = self._line
        self._earliest = min(self._earliest, arrival - self._line)
        self._in_block += 1
        if self._in_block == 16:
            if self._earliest > 0.6 * self.period:  # the whole block is late: samples were lost
                self._pass_over(self._earliest)
            else:  # shares of the error that move the line, and that change its slope over a block
                self._line += 0.3 * self._earliest
                self.period += 0.05 * self._earliest / 16
            self._earliest, self._in_block = math.inf, 0
        return stamp

    def _pass_over(self, late: float) -> None:
        """Move the line by the samples that are missing in this time [s]."""
        missed = max(1, round(late / self.period))
        self._line += missed * self.period
        self.lost += missed


class Frame(NamedTuple):
    """A received frame; `behind`: number of bytes received behind it in the same chunk."""

    function: int
    data: bytes
    behind: int = 0


class FrameParser(FrameFinder):
    """Finds frames with at most `longest` bytes of data.

    The longest frame of the board has 36 bytes (SBUS); much longer ones are noise.
    """

    header, shortest, step = frames.HEADER, 4, 2

    def __init__(self, longest: int = 64) -> None:
        super().__init__()
        self._longest = longest

    def size(self, held: bytearray) -> int:
        """Size of the frame that begins with these bytes; 0 if they are no frame."""
        return held[3] + 5 if held[2] < len(frames.Function) and held[3] <= self._longest else 0

    def is_intact(self, frame: bytes) -> bool:
        """Whether the CRC is right."""
        return frames.crc8(frame[2:-1]) == frame[-1]

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that are complete with these bytes."""
        return [Frame(frame[2], frame[4:-1], behind) for frame, behind in self.find(chunk)]

    def give_up(self) -> list[Frame]:
        """Treat the beginning of a frame as noise, because nothing has followed; return the frames behind it."""
        if not self.incomplete:
            return []
        self.damaged += 1
        self._skip(min(2, len(self._held)))
        return self.feed(b"")


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
        self._parser, self._clock = FrameParser(), SampleClock()
        self._answers: deque[tuple[frames.Answer, float]] = deque(maxlen=64)
        self._failure: OSError | None = None  # of the reading thread
        self._reader: threading.Thread | None = None
        self._end = (-1, -1)  # a pipe: a byte in it ends the reading thread

    # The port --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the port for this process alone; BusError where no board answers or reports within a second."""
        super().open()
        self._parser, self._clock = FrameParser(), SampleClock()
        self._answers.clear()
        self._owed.clear()
        self._failure, self.health.last_frame, self.health.skipped = None, -math.inf, 0
        self._end = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(self._fd, self._end[0]), name="board", daemon=True)
        self._reader.start()
        self._await_board()

    def _await_board(self) -> None:
        """Ask one servo until any frame of a board has arrived; no motion is commanded before that."""
        end, ask = time.monotonic() + 1.0, 0.0
        while not math.isfinite(self.health.last_frame):
            now = time.monotonic()
            if self._failure is not None:
                raise self._lost(self._failure)
            if now >= end:
                came = self.health.skipped
                self.close()
                seen = f"{came} bytes that are no frames of it have come" if came else "nothing has come"
                raise BusError(
                    f"servo port {self.port}: no STM32 board within 1 s at {self.baudrate} baud, {seen}: is it another "
                    "device, another baud rate, is the board's supply on? Nothing was moved"
                )
            if now >= ask:
                ask = now + 0.2  # again, because the board may still be starting
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
    ) -> bytes | None:
        """Ask a servo; return the data of its answer, or None with `fault` set.

        timeout [s]: instead of reply_timeout; it counts from `line_free` [monotonic s], the time at which the
        servos' own line has transmitted everything sent earlier. idle: called after that time; while it returns
        True, the wait continues, for at most `patience`.
        """
        if self._serial is None:
            raise self._not_open()
        self._check_alive()
        while self._answers:
            self._is_late(*self._answers.popleft())
        damaged, skipped = self.health.damaged, self.health.skipped
        self.send(frames.servo_request(command, servo_id))
        sent = max(self.free_at, line_free)
        answer = self._await_answer(servo_id, command, sent, timeout or self.reply_timeout, idle)
        self.answer = answer
        if answer is not None:
            self.fault = None if answer.success == 0 else Fault.TIMEOUT
            return answer.data if answer.success == 0 else None
        self._owed.append((bytes((servo_id, command)), sent))
        self.strays = len(self._owed)
        self.fault = Fault.of(self.health.damaged > damaged, self.health.skipped > skipped)
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
                if self._is_late(answer, came):  # the awaited answer will be as late
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

    def _is_late(self, answer: frames.Answer, came: float) -> bool:
        """Return whether this is the answer to a request that was given up."""
        late = self._find_late(bytes((answer.servo_id, answer.command)), came) > 0.0
        self.strays = len(self._owed)
        return late

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise self._lost(self._failure)
        silence = time.monotonic() - self.health.last_frame
        if silence > 2.0:
            raise self._lost(f"the board has sent nothing for {silence:.1f} s")

    # The reading thread ----------------------------------------------------------------------------------------------

    def _read(self, fd: int, end: int) -> None:
        prefer_this_thread(12)
        parser, last, half = self._parser, 0.0, 0.01  # [s] after which half a frame is noise: the longest takes 0.7 ms
        try:
            while True:
                ready = select.select([fd, end], [], [], half if parser.incomplete else 0.1)[0]
                if end in ready:
                    return
                now = time.monotonic()
                if fd in ready:
                    chunk = os.read(fd, 4096)
                    if not chunk:
                        raise OSError("end of file")
                    found, last = parser.feed(chunk), now
                else:
                    found = parser.give_up() if now - last > half else []
                noisy = parser.skipped > self.health.skipped
                self.health.damaged, self.health.skipped = parser.damaged, parser.skipped
                for frame in found:
                    self._sort(frame, now, noisy)
        except (OSError, ValueError) as error:
            self._failure = error if isinstance(error, OSError) else OSError(str(error))
            self._wake()

    def _sort(self, frame: Frame, now: float, noisy: bool) -> None:
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
