"""The serial port of the STM32 board: one process owns it, a separate thread reads it and distributes what has
arrived.

Answers of servos go to the thread that has asked; IMU samples, battery, buttons, gamepad and remote control, which the
board sends unasked, go to `BoardListener`. RTS and DTR are false before the port is opened, because the board may reset
otherwise.
"""

from __future__ import annotations

import logging
import math
import os
import select
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from hexapod_dynamics.drivers.board import protocol as frames
from hexapod_dynamics.drivers.board.imu import SampleClock
from hexapod_dynamics.drivers.board.protocol import Answer, Frame, FrameParser, Function, Pad, Remote, ServoCommand
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


class BoardListener:
    """Receives what the board sends without a request. Called in the thread that reads the port: a call must not
    wait.
    """

    def on_imu(self, values: tuple[float, ...], stamp: float) -> None:
        """Take ax, ay, az [g], gx, gy, gz [deg/s] of the monotonic time `stamp` [s]."""

    def on_button(self, number: int, event: int) -> None:
        """Take an event of a button of the board."""

    def on_pad(self, pad: Pad) -> None:
        """Take the state of the gamepad."""

    def on_remote(self, remote: Remote) -> None:
        """Take the state of the radio remote control."""


class BoardPort(SerialLink):
    """The board behind a serial port.

    first_id: id of the servo that is asked after the opening, to find out whether there is a board.
    """

    def __init__(self, settings: PortSettings, first_id: int = 1) -> None:
        super().__init__(settings, modem_lines=False)
        self.listener, self.health = BoardListener(), BoardHealth()
        self.answer: Answer | None = None  # of the last exchange, even if the answer reports a failure
        self.reply_time = 0.0  # monotonic [s] of the last answer's arrival
        self._first_id = first_id
        self._parser, self._clock = FrameParser(), SampleClock()
        self._answers: deque[tuple[Answer, float]] = deque(maxlen=64)
        # id, command, time at which the request had been sent
        self._owed: deque[tuple[int, int, float]] = deque(maxlen=_OWED)
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
                self.send(frames.servo_request(ServoCommand.READ_ID, self._first_id))
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
        command: ServoCommand,
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

    def _await_answer(self, servo_id: int, command: int, sent: float, timeout: float, idle: Idle) -> Answer | None:
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

    def _find_late(self, answer: Answer, came: float) -> bool:
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

    def _sort(self, frame: Frame, now: float, noisy: bool) -> None:
        health = self.health
        name = Function(frame.function).name
        health.frames[name] = health.frames.get(name, 0) + 1
        health.last_frame = now
        came = now - frame.behind * self.byte_time
        if frame.function == Function.BUS_SERVO:
            answer = frames.parse_answer(frame.data)
            if answer is not None:
                self._answers.append((answer, came))
                self._wake()
            return
        try:
            self._report(frame, came, noisy)
        except Exception:  # an error in the listener must not end the only thread that reads the port
            _log.exception("the board's %s frame could not be passed on", name)

    def _report(self, frame: Frame, came: float, noisy: bool) -> None:
        listener, health = self.listener, self.health
        function, data = frame.function, frame.data
        if function == Function.IMU and (values := frames.parse_imu(data)) is not None:
            stamp = self._clock.stamp(came, noisy)
            health.imu_rate, health.imu_lost = self._clock.rate, self._clock.lost
            listener.on_imu(values, stamp)
        elif function == Function.SYSTEM and (battery := frames.parse_battery(data)) is not None:
            health.battery = battery
        elif function == Function.BUTTON and (button := frames.parse_button(data)) is not None:
            listener.on_button(*button)
        elif function == Function.GAMEPAD and (pad := frames.parse_pad(data)) is not None:
            listener.on_pad(pad)
        elif function == Function.SBUS and (remote := frames.parse_remote(data)) is not None:
            listener.on_remote(remote)
