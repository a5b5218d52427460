"""LX/HTD bus servos behind the STM32 board of the JetHexa with an Orin; a thread reads its port and distributes.

The board alone uses the servos' line (115200 baud); one frame commands a whole pose. The board reads one servo at
a time and cannot read set-points: the last one that was sent is stored here. Writes are never acknowledged.
Answers of servos go to the thread that has asked; IMU samples, battery, buttons, gamepad and remote control, which the
board sends unasked, go to a listener. RTS and DTR are false before the port is opened: else the board may reset.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.frame_finder import Answer
from hexapod_dynamics.drivers.servos.board import protocol as frames
from hexapod_dynamics.drivers.servos.board.protocol import Frame, FrameParser, ServoCommand
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, Idle, Motion, PortSettings, Quantity
from hexapod_dynamics.drivers.servos.lx.protocol import DEFAULT_BAUDRATE, MOVE_SIZE, QUANTITIES, extract_value
from hexapod_dynamics.drivers.servos.serial_servos import BITS_PER_BYTE, SerialServos
from hexapod_dynamics.drivers.thread_priority import raise_thread_priority
from hexapod_dynamics.drivers.wake import Wake
from hexapod_dynamics.robot.servo_map import BUS_SERVO, BUS_SERVO_READABLE, HIGHEST_ID

_log = logging.getLogger(__name__)
_LINE_BYTE = BITS_PER_BYTE / DEFAULT_BAUDRATE  # [s] on the servos' own line
_SHORT = 7  # bytes on that line of a stop or torque frame, at most


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
            self._skip_missing(arrival - self._line)
        stamp = self._line
        self._earliest = min(self._earliest, arrival - self._line)
        self._in_block += 1
        if self._in_block == 16:
            if self._earliest > 0.6 * self.period:  # the whole block is late: samples were lost
                self._skip_missing(self._earliest)
            else:  # shares of the error that move the line, and that change its slope over a block
                self._line += 0.3 * self._earliest
                self.period += 0.05 * self._earliest / 16
            self._earliest, self._in_block = math.inf, 0
        return stamp

    def _skip_missing(self, late: float) -> None:
        """Move the line by the samples that are missing in this time [s]."""
        missed = max(1, round(late / self.period))
        self._line += missed * self.period
        self.lost += missed


class BoardServos(SerialServos):
    """The servos of these ids behind a board. Raises DeviceError for wrong ids.

    listener(report, monotonic [s]): gets what the board sends without a request, in the thread that reads the port; it
    must not wait. battery [V]: NaN until the board has reported it. clock: of the IMU's samples.
    """

    readable = BUS_SERVO_READABLE
    modem_lines, reads_apart = False, True
    _parser: FrameParser

    def __init__(self, settings: PortSettings, ids: Sequence[int]) -> None:
        super().__init__(settings, ids, HIGHEST_ID, BUS_SERVO)
        self.pose_times = 0.0, MOVE_SIZE * _LINE_BYTE
        self.listener: Callable[[frames.Report, float], object] = lambda report, stamp: None
        self.battery, self.clock = math.nan, SampleClock()
        self._sent = [math.nan] * len(self.ids)  # last set-points [rad]
        self._line_free = 0.0  # monotonic [s] at which the servos' line has transmitted everything sent so far
        self._turn = 0.0  # [s] shortest time from a request to its answer: the time that protocol and board need
        self._answered, self._since = 0, (time.monotonic(), 0)
        self._parser, self._counts = FrameParser(), Counter[str]()
        self._last_frame = -math.inf  # monotonic [s]
        self._answers: deque[Answer] = deque(maxlen=64)
        self._failure: OSError | None = None  # of the reading thread
        self._reader: threading.Thread | None = None
        self._end: Wake | None = None  # ends a wait of the reading thread

    # The port --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the port for this process alone; BusError where no board answers or reports within a second."""
        super().open()
        self._parser, self.clock = FrameParser(), SampleClock()
        self._answers.clear()
        self._owed.clear()
        self._failure, self._last_frame = None, -math.inf
        self._end = Wake()
        self._reader = threading.Thread(target=self._read_port, args=(self._fd, self._end), name="board", daemon=True)
        self._reader.start()
        self._await_board()
        self._sent = [math.nan] * len(self.ids)  # since then the servos may have lost their supply
        self._line_free = time.monotonic()

    def _await_board(self) -> None:
        """Ask the first servo until any frame of a board has arrived; no motion is commanded before that."""
        end, ask = time.monotonic() + 1.0, 0.0
        while not math.isfinite(self._last_frame):
            now = time.monotonic()
            if self._failure is not None:
                raise self._close_lost_port(self._failure)
            if now >= end:
                came = self._parser.skipped
                self.close()
                seen = f"{came} bytes that are no frames of it have come" if came else "nothing has come"
                raise BusError(
                    f"servo port {self.port}: no STM32 board within 1 s at {self.baudrate} baud, {seen}: is it another "
                    "device, another baud rate, is the board's supply on? Nothing was moved"
                )
            if now >= ask:
                ask = now + 0.2  # again, because the board may still be starting
                self.send(frames.servo_request(ServoCommand.READ_ID, self.ids[0] if self.ids else 1))
            self._alarm.wait(0.01)

    def close(self) -> None:
        """Close the port and end the reading thread."""
        reader, self._reader, end, self._end = self._reader, None, self._end, None
        if reader is not None and end is not None:
            end.set()
            reader.join()
            end.close()
        super().close()

    def figures(self) -> dict[str, object]:
        """Return what the board reports and how fast it answers, for the diagnostics."""
        now = time.monotonic()
        elapsed, answers = now - self._since[0], self._answered - self._since[1]
        self._since = now, self._answered
        values: dict[str, object] = {
            "servo answers of the board [1/s]": answers / elapsed if elapsed > 0.0 else math.nan,
            "shortest answer of the board [s]": self._turn,
            "battery, as the board reports it [V]": self.battery,
            "IMU samples of the board [1/s]": self.clock.rate,
            "IMU samples lost": self.clock.lost,
            "damaged frames of the board": self._parser.damaged,
            "bytes of no frame": self._parser.skipped,
        }
        return values | {f"frames {name}": count for name, count in sorted(self._counts.copy().items())}

    # Commands --------------------------------------------------------------------------------------------------------

    def _occupy(self, count: int) -> None:
        """Note that the servos' line has this number of bytes to transmit."""
        duration = count * _LINE_BYTE
        self._line_free = max(time.monotonic(), self._line_free) + duration
        self.free_at = max(self.free_at, self._line_free)
        self.busy_time += duration

    def write_pose(self, motions: Sequence[Motion]) -> None:
        """Queue one frame with the set-points; one frame for each duration where these differ."""
        groups: dict[int, list[tuple[int, int]]] = {}  # ids and counts by duration [ms]
        for index, angle, duration in motions:
            groups.setdefault(round(duration * 1000.0), []).append((self.ids[index], BUS_SERVO.count(angle)))

        def pose() -> bytes:
            for index, angle, _ in motions:
                self._sent[index] = angle
            return b"".join(frames.set_positions(0.001 * each, targets) for each, targets in groups.items())

        self.send(pose)
        self._occupy(MOVE_SIZE * len(motions))

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque on or off, one frame a servo, for all these servos `copies` times."""
        command = ServoCommand.TORQUE_ON if on else ServoCommand.TORQUE_OFF
        self.send(b"".join(frames.servo_request(command, self.ids[index]) for index in indices) * copies)
        self._occupy(_SHORT * len(indices) * copies)
        for index in indices:
            self._sent[index] = math.nan

    def _build_stop(self, index: int | None) -> bytes:
        stopped = range(len(self.ids)) if index is None else (index,)
        for each in stopped:
            self._sent[each] = math.nan
        return frames.stop([self.ids[each] for each in stopped]) * 3

    def stop(self, index: int | None = None) -> None:
        """Queue three stops of one servo, or three frames that stop all."""
        super().stop(index)
        self._occupy(_SHORT * 3 * (len(self.ids) if index is None else 1))

    # Questions -------------------------------------------------------------------------------------------------------

    def can_read(self, index: int, quantity: Quantity) -> bool:
        """Whether the quantity can be read: a set-point only if this object has sent one."""
        return quantity != "target" or not math.isnan(self._sent[index])

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo; return the value, or None with `fault` set.

        timeout [s]: counts from the time at which the servos' own line has transmitted everything sent earlier.
        """
        if quantity == "target":
            # A stop of another thread may have come since the caller asked whether the set-point is known.
            sent, self.read_time = self._sent[index], time.monotonic()
            self.fault = Fault.TIMEOUT if math.isnan(sent) else None
            return None if math.isnan(sent) else sent
        if self._serial is None:
            raise self._not_open_error()
        self._check_alive()
        asked, key = max(time.monotonic(), self._line_free), (self.ids[index], frames.READS[QUANTITIES[quantity]])
        request = frames.servo_request(key[1], key[0])
        answer = self._exchange(request, (key,), frames.LONGEST_ANSWER, idle, timeout).get(key)
        if answer is None:
            self.strays = len(self._owed)
            self._check_alive()
            return None
        self._answered += 1
        took = max(answer.came - asked, 0.0)
        if answer.code == 0:  # the time of a failed request is the timeout of the board
            self._turn = took if self._turn == 0.0 else min(self._turn, took)
            self.busy_time += took
        # The servo measures when the request has reached it; the board's delay after that is not known.
        self.read_time = answer.came - 0.5 * min(took, self._turn or took)
        self.delay = max(0.0, took - self._turn)
        self.fault = None if answer.code == 0 else Fault.TIMEOUT
        return extract_value(quantity, answer.data) if answer.code == 0 else None

    def _finish_sending(self) -> float:
        return max(self.free_at, self._line_free)

    def _receive(self, wait: float, now: float, reads: bool = True) -> list[Answer]:
        """Return the answers that the reading thread has received, or receives within `wait` [s]."""
        if not self._answers:
            self._wait(wait, now, reads=False)
        self._check_alive()
        return [self._answers.popleft() for _ in range(len(self._answers))]

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise self._close_lost_port(self._failure)
        silence = time.monotonic() - self._last_frame
        if silence > 2.0:
            raise self._close_lost_port(f"the board has sent nothing for {silence:.1f} s")

    # The reading thread ----------------------------------------------------------------------------------------------

    def _read_port(self, fd: int, end: Wake) -> None:
        raise_thread_priority(12)
        last, half = 0.0, 0.01  # [s] after which half a frame is noise: the longest takes 0.7 ms
        try:
            while self._reader is not None:
                arrived = end.wait(half if self._parser.incomplete else 0.1, fd)
                now, chunk = time.monotonic(), b""
                if arrived:
                    last, chunk = now, os.read(fd, 4096)
                    if not chunk:
                        raise OSError("end of file")
                elif now - last <= half:
                    continue
                if answers := self._parse(chunk, now):
                    self._answers += answers
                    self._alarm.set()
        except (OSError, ValueError) as error:
            self._failure = error if isinstance(error, OSError) else OSError(str(error))
            self._alarm.set()

    def _parse(self, chunk: bytes, came: float) -> list[Answer]:
        """Return the answers that are complete with these bytes, and pass reports on; no bytes: nothing has followed
        the beginning of a frame, which is discarded.
        """
        parser, answers = self._parser, []
        skipped = parser.skipped
        for frame in parser.feed(chunk) if chunk else parser.give_up():
            self._last_frame, at = came, came - frame.behind * self.byte_time
            self._counts[frames.Function(frame.function).name] += 1
            if frame.function != frames.Function.BUS_SERVO:
                self._report(frame, at, parser.skipped > skipped)
            elif answer := frames.parse_answer(frame.data):
                answers.append(answer._replace(came=at))
        return answers

    def _report(self, frame: Frame, came: float, noisy: bool) -> None:
        """Pass on what the board reports unasked, received at the time `came` [s]; noisy: bytes before were damaged."""
        try:
            report = frames.parse_report(frame.function, frame.data)
            if isinstance(report, frames.ImuValues):
                came = self.clock.stamp(came, noisy)
            elif isinstance(report, frames.Battery):
                self.battery = report.voltage
            if report is not None:
                self.listener(report, came)
        except Exception:  # an error in the listener must not end the only thread that reads the port
            _log.exception("the board's %s frame could not be passed on", frames.Function(frame.function).name)
