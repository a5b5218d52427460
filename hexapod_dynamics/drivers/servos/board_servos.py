"""LX/HTD bus servos behind the STM32 board of the JetHexa with an Orin, as a ServoInterface.

The board alone uses the servos' line (115200 baud); one frame commands a whole pose. The board reads one servo at
a time and cannot read set-points: the last one that was sent is stored here. Writes are never acknowledged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from hexapod_dynamics.drivers.servos import board_protocol as frames
from hexapod_dynamics.drivers.servos.board_port import BoardPort
from hexapod_dynamics.drivers.servos.board_protocol import ServoCommand
from hexapod_dynamics.drivers.servos.interface import Idle, PortSettings, Quantity, ServoInterface
from hexapod_dynamics.drivers.servos.lx.protocol import value_of
from hexapod_dynamics.robot.servo_map import BUS_SERVO, BUS_SERVO_READABLE, HIGHEST_ID

_READS: dict[Quantity, ServoCommand] = {
    "position": ServoCommand.READ_POSITION,
    "loaded": ServoCommand.READ_TORQUE,
    "voltage": ServoCommand.READ_VOLTAGE,
    "temperature": ServoCommand.READ_TEMPERATURE,
    "lowest_voltage": ServoCommand.READ_VOLTAGE_LIMITS,
    "highest_voltage": ServoCommand.READ_VOLTAGE_LIMITS,
    "temperature_limit": ServoCommand.READ_TEMPERATURE_LIMIT,
    "deviation": ServoCommand.READ_DEVIATION,
}
_LINE_BYTE = 10.0 / 115200  # [s] on the servos' own line: a move takes ten bytes, a stop or torque frame seven


class BoardServos(ServoInterface):
    """The servos of these ids behind a board. Raises DeviceError for wrong ids."""

    readable = BUS_SERVO_READABLE

    def __init__(self, board: BoardPort, ids: Sequence[int]) -> None:
        super().__init__(board, ids, HIGHEST_ID, BUS_SERVO)
        self.board = board
        self._stops = frames.stop(self.ids) * 3  # because it is not acknowledged
        self._sent = [math.nan] * len(self.ids)  # last set-points [rad]
        self._line_free = 0.0  # monotonic [s] at which the servos' line has transmitted everything sent so far
        self.pose_times = 0.0, 10 * _LINE_BYTE
        self._turn = 0.0  # [s] shortest time from a request to its answer: the time that protocol and board need
        self._answered = 0
        self._since = (time.monotonic(), 0)

    @classmethod
    def from_settings(cls, settings: PortSettings, ids: Sequence[int]) -> BoardServos:
        """Make them for a port that stays closed."""
        return cls(BoardPort(settings, first_id=ids[0] if ids else 1), ids)

    def open(self) -> None:
        """Open the port for this process alone, once a board has answered or reported."""
        super().open()
        self._sent = [math.nan] * len(self.ids)  # since then the servos may have lost their supply
        self._line_free = time.monotonic()

    def figures(self) -> dict[str, object]:
        """Return what the board reports and how fast it answers, for the diagnostics."""
        health, now = self.board.health, time.monotonic()
        elapsed, answers = now - self._since[0], self._answered - self._since[1]
        self._since = now, self._answered
        values: dict[str, object] = {
            "servo answers of the board [1/s]": answers / elapsed if elapsed > 0.0 else math.nan,
            "shortest answer of the board [s]": self._turn,
            "battery, as the board reports it [V]": health.battery,
            "IMU samples of the board [1/s]": health.imu_rate,
            "IMU samples lost": health.imu_lost,
            "damaged frames of the board": health.damaged,
            "bytes of no frame": health.skipped,
        }
        return values | {f"frames {name}": count for name, count in sorted(health.frames.items())}

    def _occupy(self, count: int) -> None:
        """Note that the servos' line has this number of bytes to transmit."""
        duration = count * _LINE_BYTE
        self._line_free = max(time.monotonic(), self._line_free) + duration
        self.board.free_at = max(self.board.free_at, self._line_free)
        self.board.busy_time += duration

    def write_pose(self, angles: Sequence[float], durations: Sequence[float], chosen: Sequence[bool]) -> None:
        """Queue one frame with the chosen servos' set-points; one frame for each duration where these differ."""
        groups: dict[int, list[tuple[int, int]]] = {}
        for index, wanted in enumerate(chosen):
            if wanted:
                milliseconds = round(durations[index] * 1000.0)
                groups.setdefault(milliseconds, []).append((self.ids[index], BUS_SERVO.count(angles[index])))
                self._sent[index] = angles[index]
        if groups:
            data = [frames.set_positions(0.001 * duration, targets) for duration, targets in groups.items()]
            self.board.send(b"".join(data))
            self._occupy(10 * sum(map(len, groups.values())))

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque on or off, one frame a servo, for all these servos `copies` times."""
        command = ServoCommand.TORQUE_ON if on else ServoCommand.TORQUE_OFF
        self.board.send(b"".join(frames.servo_request(command, self.ids[index]) for index in indices) * copies)
        self._occupy(7 * len(indices) * copies)
        for index in indices:
            self._sent[index] = math.nan

    def stop(self, index: int | None = None) -> None:
        """Queue three stops of one servo, or three frames that stop all."""
        stopped = range(len(self.ids)) if index is None else (index,)
        self.board.send(frames.stop([self.ids[each] for each in stopped]) * 3)
        for each in stopped:
            self._sent[each] = math.nan
        self._occupy(7 * 3 * len(stopped))

    def stop_now(self) -> bool:
        """Send stops of all servos ahead of everything queued here; return False if the port does not accept them."""
        return self.board.interrupt(self._stops)

    def resume(self) -> None:
        """Send again, after `stop_now`."""
        if self.board.interrupted:
            self._sent = [math.nan] * len(self.ids)
        super().resume()

    def knows(self, index: int, quantity: Quantity) -> bool:
        """Whether the quantity can be read: a set-point only if this object has sent one."""
        return quantity != "target" or not math.isnan(self._sent[index])

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo; return the value, or None with `fault` set."""
        if quantity == "target":
            self.fault = None
            self.read_time = time.monotonic()
            return None if math.isnan(self._sent[index]) else self._sent[index]
        board, asked = self.board, max(time.monotonic(), self._line_free)
        data = board.exchange(self.ids[index], _READS[quantity], idle, timeout, self._line_free)
        self.fault = board.fault
        if board.answer is None:
            return None
        self._answered += 1
        took = max(board.reply_time - asked, 0.0)
        if data is not None:  # the time of a failed request is the timeout of the board
            self._turn = took if self._turn == 0.0 else min(self._turn, took)
            board.busy_time += took
        # The servo measures when the request has reached it; the board's delay after that is not known.
        self.read_time = board.reply_time - 0.5 * min(took, self._turn or took)
        self.delay = max(0.0, took - self._turn)
        return None if data is None else value_of(quantity, data)
