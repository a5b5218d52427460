"""Simulated LX/HTD servos as seen from the bus: effect of each command, answer to each read. No I/O, no clock.

Every method takes the time `t` [s] (monotonic, any origin) at which the frame was complete on the wire, so that the
motion is exact even if the frame is handled late. The physics reads `motion(t)`, `are_holding()` and sets the shafts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import BROADCAST_ID, READS, Command
from hexapod_dynamics.robot.servo_map import BUS_SERVO

SPEED_LIMIT = 5.82  # [rad/s] HTD-35H without load, 0.18 s/60 deg


class VirtualServos:
    """n servos; arrays are (n,) in joint order, angles of joints [rad].

    angles: initial angles of the shafts. loaded: whether the servos exert torque from the start (a real servo exerts
    none after power-on until its first command).
    """

    def __init__(
        self,
        ids: Sequence[int],
        directions: Sequence[int],
        angles: npt.ArrayLike | None = None,
        *,
        speed_limit: float = SPEED_LIMIT,
        loaded: bool = False,
    ) -> None:
        n = len(ids)
        self.lock = threading.RLock()
        self.ids = np.array(ids, np.int64)
        self.slope = np.array(directions, float) * BUS_SERVO.per_radian
        self.present = np.ones(n, bool)
        self.voltage = np.full(n, 11.8)
        self.temperature = np.full(n, 32.0)
        self.loaded = np.full(n, loaded)
        self.trim = np.zeros(n)  # [counts] error of the mounting angle of the horn
        self.offset = np.zeros(n, np.int64)  # deviation, -125..125
        self.saved_offset = np.zeros(n, np.int64)
        self.angle_limits = np.tile([0, BUS_SERVO.top], (n, 1))
        self.vin_limits = np.tile([9000, 12600], (n, 1))  # [mV]
        self.temp_limit = np.full(n, 85)
        self.motor = np.zeros(n, bool)
        self.duty = np.zeros(n)
        self.led_off = np.zeros(n, np.int64)
        self.led_error = np.full(n, 7)
        self.flash_writes = np.zeros(n, np.int64)
        self._speed_limit = speed_limit * BUS_SERVO.per_radian  # [counts/s]
        self._shaft = BUS_SERVO.centre + self.slope * (np.zeros(n) if angles is None else np.asarray(angles, float))
        self._start, self._target = self._shaft.copy(), self._shaft.copy()
        self._begin, self._end = np.zeros(n), np.zeros(n)
        self._command = np.zeros((n, 2), np.int64)  # last MOVE_TIME pair
        self._latched = np.zeros((n, 2), np.int64)  # last MOVE_TIME_WAIT pair
        self._waiting = np.zeros(n, bool)

    def __len__(self) -> int:
        return len(self.ids)

    # Called by the physics -------------------------------------------------------------------------------------------

    def set_angles(self, angles: np.ndarray) -> None:
        """Set the joint angles (n,) [rad] of the shafts; the set-points of servos without torque follow."""
        with self.lock:
            self._shaft[:] = BUS_SERVO.centre + self.slope * angles + self.trim
            limp = ~(self.loaded & self._healthy())
            self._start[limp] = self._target[limp] = (self._shaft - self.offset)[limp]

    def setpoints(self, t: float) -> np.ndarray:
        """Return the joint set-points (n,) [rad] at time t."""
        with self.lock:
            return (self._counts(t) + self.offset - self.trim - BUS_SERVO.centre) / self.slope

    def motion(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Set-points, targets (n,) [rad] and the seconds (n,) left until each target is reached, at time t."""
        with self.lock:
            target = (self._target + self.offset - self.trim - BUS_SERVO.centre) / self.slope
            return self.setpoints(t), target, np.maximum(0.0, self._end - t)

    def are_holding(self) -> np.ndarray:
        """Return which servos (n,) bool exert torque: on, not too hot, and within their supply limits."""
        with self.lock:
            return self.loaded & self._healthy()

    def _healthy(self) -> np.ndarray:
        millivolts = self.voltage * 1000.0
        return (
            (self.temperature <= self.temp_limit)
            & (millivolts >= self.vin_limits[:, 0] - 1e-6)
            & (millivolts <= self.vin_limits[:, 1] + 1e-6)
        )

    def _counts(self, t: float) -> np.ndarray:
        span = self._end - self._begin
        passed = np.where(span > 0.0, np.clip((t - self._begin) / np.where(span > 0.0, span, 1.0), 0.0, 1.0), 1.0)
        return self._start + (self._target - self._start) * passed

    # Called by buses of other servos: angles [rad] from a servo's centre, in its own direction ------------------------

    def move(self, i: int, angle: float, duration: float, t: float) -> None:
        """Move a servo to an angle in a duration [s], more slowly if it would be too fast; it exerts torque then."""
        with self.lock:
            self._start_motion(i, BUS_SERVO.centre + angle * BUS_SERVO.per_radian, duration, t)

    def switch_torque(self, i: int, on: bool, t: float) -> None:
        """Switch the torque of a servo on, at its present position, or off."""
        with self.lock:
            self._load(i, on, t)

    def shaft_angle(self, i: int) -> float:
        """Return the angle of a servo's shaft as the servo measures it."""
        with self.lock:
            return (float(self._shaft[i]) - int(self.offset[i]) - BUS_SERVO.centre) / BUS_SERVO.per_radian

    # Called by the bus -----------------------------------------------------------------------------------------------

    def find_addressed(self, servo_id: int) -> np.ndarray:
        """Return the indices of the servos that an id addresses."""
        meant = self.present if servo_id == BROADCAST_ID else self.present & (self.ids == servo_id)
        return np.flatnonzero(meant)

    def execute(self, frame: lx.Frame, t: float, deaf: Collection[int] = ()) -> list[bytes]:
        """Execute a frame at time t on every addressed servo; return their answers (two or more collide on the wire).

        Unknown frames, frames with a wrong number of parameters and values out of range are ignored.
        deaf: ids of servos that do not receive.
        """
        with self.lock:
            answers = []
            for i in self.find_addressed(frame.servo_id):
                if self.ids[i] in deaf:
                    continue
                if frame.command in READS:
                    if not frame.payload and (frame.servo_id != BROADCAST_ID or frame.command == Command.ID_READ):
                        answers.append(self._answer(i, frame.command))
                elif self._fits(frame):
                    self._execute_command(i, frame.command, frame.payload, t)
            return answers

    @staticmethod
    def _fits(frame: lx.Frame) -> bool:
        try:
            lx.build(0 if frame.servo_id == BROADCAST_ID else frame.servo_id, frame.command, frame.payload)
        except ValueError:
            return False
        return True

    def _move(self, i: int, pair: Sequence[int] | np.ndarray, t: float) -> None:
        low, high = self.angle_limits[i]
        target = min(max(int(pair[0]), low), high)
        self._start_motion(i, target, int(pair[1]) / 1000.0, t)

    def _start_motion(self, i: int, target: float, duration: float, t: float) -> None:
        here = float(self._counts(t)[i]) if self.loaded[i] else float(self._shaft[i] - self.offset[i])
        duration = max(duration, abs(target - here) / self._speed_limit)
        self._start[i], self._target[i], self._begin[i], self._end[i] = here, target, t, t + duration
        self.loaded[i], self.motor[i] = True, False

    def _stop(self, i: int, t: float) -> None:
        here = float(self._counts(t)[i])
        self._start[i] = self._target[i] = here
        self._begin[i] = self._end[i] = t
        self._waiting[i] = False

    def _execute_command(self, i: int, command: int, payload: bytes, t: float) -> None:
        pair = (payload[0] | payload[1] << 8, payload[2] | payload[3] << 8) if len(payload) == 4 else (0, 0)
        byte = payload[0] if payload else 0
        if command == Command.MOVE_TIME_WRITE and pair[0] <= BUS_SERVO.top:
            self._command[i], self._waiting[i] = pair, False
            self._move(i, pair, t)
        elif command == Command.MOVE_TIME_WAIT_WRITE and pair[0] <= BUS_SERVO.top:
            self._latched[i], self._waiting[i] = pair, True
        elif command == Command.MOVE_START and self._waiting[i]:
            self._waiting[i] = False
            self._move(i, self._latched[i], t)
        elif command == Command.MOVE_STOP:
            self._stop(i, t)
        elif command == Command.ID_WRITE and byte < BROADCAST_ID:
            self.ids[i] = byte
            self.flash_writes[i] += 1
        elif command == Command.ANGLE_OFFSET_ADJUST:
            self.offset[i] = byte - 256 if byte > 127 else byte
        elif command == Command.ANGLE_OFFSET_WRITE:
            self.saved_offset[i] = self.offset[i]
            self.flash_writes[i] += 1
        elif command == Command.ANGLE_LIMIT_WRITE and pair[0] < pair[1] <= BUS_SERVO.top:
            self.angle_limits[i] = pair
            self.flash_writes[i] += 1
        elif command == Command.VIN_LIMIT_WRITE and pair[0] < pair[1]:
            self.vin_limits[i] = pair
            self.flash_writes[i] += 1
        elif command == Command.TEMP_MAX_LIMIT_WRITE and 50 <= byte <= 100:
            self.temp_limit[i] = byte
            self.flash_writes[i] += 1
        elif command == Command.OR_MOTOR_MODE_WRITE:
            self.motor[i] = byte == 1
            self.duty[i] = int.from_bytes(payload[2:4], "little", signed=True) / 1000.0
        elif command == Command.LOAD_OR_UNLOAD_WRITE:
            self._load(i, byte == 1, t)
        elif command == Command.LED_CTRL_WRITE:
            self.led_off[i] = byte
        elif command == Command.LED_ERROR_WRITE:
            self.led_error[i] = byte

    def _load(self, i: int, on: bool, t: float) -> None:
        if on != self.loaded[i]:
            self._start[i] = self._target[i] = self._shaft[i] - self.offset[i]
            self._begin[i] = self._end[i] = t
            self._waiting[i] = False
        self.loaded[i] = on

    def power_cycle(self, t: float) -> None:
        """Lose what is not in flash: torque and unsaved deviations."""
        with self.lock:
            for i in range(len(self)):
                self._load(i, False, t)
            self.offset[:] = self.saved_offset
            self._waiting[:] = False
            self.motor[:] = False

    def _answer(self, i: int, command: int) -> bytes:
        healthy_load = int(self.loaded[i] and self._healthy()[i])
        values: dict[int, Callable[[], Iterable[float]]] = {
            Command.MOVE_TIME_READ: lambda: self._command[i],
            Command.MOVE_TIME_WAIT_READ: lambda: self._latched[i],
            Command.ID_READ: lambda: (self.ids[i],),
            Command.ANGLE_OFFSET_READ: lambda: (self.offset[i],),
            Command.ANGLE_LIMIT_READ: lambda: self.angle_limits[i],
            Command.VIN_LIMIT_READ: lambda: self.vin_limits[i],
            Command.TEMP_MAX_LIMIT_READ: lambda: (self.temp_limit[i],),
            Command.TEMP_READ: lambda: (int(min(max(self.temperature[i], 0), 255)),),
            Command.VIN_READ: lambda: (round(self.voltage[i] * 1000),),
            Command.POS_READ: lambda: (int(np.floor(self._shaft[i] - self.offset[i] + 0.5)),),
            Command.OR_MOTOR_MODE_READ: lambda: (int(self.motor[i]), 0, round(self.duty[i] * 1000)),
            Command.LOAD_OR_UNLOAD_READ: lambda: (healthy_load,),
            Command.LED_CTRL_READ: lambda: (self.led_off[i],),
            Command.LED_ERROR_READ: lambda: (self.led_error[i],),
        }
        return lx.encode_reply(int(self.ids[i]), command, *(int(value) for value in values[command]()))
