"""The model of the declared robot under the commands as the servos execute them, with its recent states."""

from __future__ import annotations

import math
from collections import deque
from typing import TypeVar

import numpy as np

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, PoseGuard
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.timing import LATE
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx
from hexapod_dynamics.simulation import Predictor

_TICKS = 512
Tick = TypeVar("Tick", int, np.ndarray)


class RunningModel:
    """A Predictor that advances by one tick for each command and stores the last ticks; times are seconds on one clock.

    Commands are bounded by the guard, rounded to the servos' counts and delayed, as on the robot.

    Ring buffers, `row(k)` is the row of tick k: `time` (N,) [s] at which the state is that of `q` (N, n) [rad],
    `targets` (N, n) [rad], `tilt` (N, 3): roll, pitch, yaw [rad], `loads` (N, legs) [N]: vertical forces of the feet.
    period [s] of a tick. tick: number of ticks since the start. late_at: time of the last `advance` in which a command
    came too late.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings) -> None:
        n = robot.joint_count
        self.period = settings.command_period
        self._delay, self._servo = settings.command_delay, robot.servo
        # [s] after which commands are missing, five at least: the servos hold.
        self._patience = max(0.1, 5.0 * self.period) + self._delay
        self._guard = PoseGuard.from_robot(robot, settings.guard)
        self._model = Predictor(robot, timestep=settings.timestep)
        self.time = np.full(_TICKS, np.nan)
        self.targets, self.q = np.zeros((_TICKS, n)), np.zeros((_TICKS, n))
        self.tilt, self.loads = np.zeros((_TICKS, 3)), np.zeros((_TICKS, len(robot.legs)))
        self.tick, self.started = 0, False
        self._torques = np.zeros(n)
        self._generation = np.zeros(n, np.int64)
        self._commands: deque[tuple[float, np.ndarray]] = deque()
        self._tick_time, self._last = 0.0, math.inf  # of the last tick and the last command executed
        self.late_at = -math.inf

    # ---- commands ----------------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Add a command: joint angles (n,) [rad], NaN: no command; torques (n,) [N m]: feed-forward."""
        if torques is not None:
            self._torques[:] = torques
        if not self.started:  # it starts at the last one
            self._commands.clear()
        self._commands.append((time, np.array(positions, float)))

    def clear(self) -> None:
        """Discard the commands that have not been executed, and the model's state."""
        self.started = False
        self._commands.clear()

    def start(self, time: float, angles: np.ndarray, morphology: Morphology) -> bool:
        """Start with the robot standing on its lowest feet, at the last command before a time [s] and the measured
        angles (n,) [rad], NaN: not measured; False: too few. Since a command of long ago the servos have held.
        """
        ready = np.isfinite(angles) | ~morphology.existing_mask
        if not self._commands or not ready.mean() > 0.8:
            return False
        at, positions = self._commands[-1]
        begin = max(at, time - self._patience)
        start = np.where(np.isfinite(angles), angles, np.nan_to_num(positions))
        self._generation += 1
        self._guard.synchronise_setpoint(self._generation, start, np.ones(len(start), bool))
        self._model.set_morphology(morphology)
        self._model.set_state(np.zeros(3), np.eye(3), start, np.zeros(6 + len(start)))
        self._model.position[2] = self._model.resting_height()
        self._commands.clear()
        self.tick, self.started = 0, True
        self._step(begin, start)
        self._last = begin
        return True

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the declared morphology."""
        self._model.set_morphology(morphology)

    def advance(self, time: float) -> None:
        """Execute the commands that the servos have executed until `time`; HexapodError if the model is not
        finite.
        """
        while self._commands and self._commands[0][0] <= time - self._delay:
            at, positions = self._commands.popleft()
            if at - self._tick_time > LATE:
                self.late_at = time
            if at - self._last > COMMAND_TIMEOUT:
                self._guard.pause()
            self._last = at
            while at - self._tick_time > 2.5 * self.period:
                self._hold()
            interval = min(max(at - self._tick_time, 0.5 * self.period), 2.0 * self.period)
            self._tick(at, self._guard.update(positions, self._torques, interval))
        while time - self._tick_time > self._patience:
            self._hold()

    def _hold(self) -> None:
        """Advance one tick without a command: the servos keep their targets."""
        self._tick(self._tick_time + self.period, np.full(len(self._torques), np.nan))

    def _tick(self, at: float, setpoints: np.ndarray) -> None:
        self._step(at, self._servo.quantise(setpoints))
        if not np.isfinite(self._model.position).all():
            raise HexapodError("the detector's model is not finite: it starts again")

    def _step(self, at: float, targets: np.ndarray) -> None:
        """Advance one tick under the targets (n,) [rad] of a command of the time `at` [s], NaN: kept."""
        model, row = self._model, self.row(self.tick)
        self._tick_time = at
        self.targets[row] = np.where(np.isfinite(targets), targets, model.setpoints)
        self.time[row] = at + self._delay + self.period  # the servos have reached their targets then
        model.advance(self.period, self.targets[row], self.period)
        self.q[row] = model.q
        yaw, pitch, roll = euler_zyx(model.rotation)
        self.tilt[row] = roll, pitch, yaw
        self.loads[row] = model.foot_forces[:, 2]
        self.tick += 1

    # ---- recent states -----------------------------------------------------------------------------------------------

    @staticmethod
    def row(tick: Tick) -> Tick:
        """Row of a tick (or ticks) in the ring buffers."""
        return tick % _TICKS

    def find_tick(self, time: float) -> float:
        """Fractional tick at a time [s]; NaN if it is no longer or not yet in the buffers."""
        last = self.tick - 1
        first = max(0, self.tick - _TICKS + 1)
        if last <= first or not self.time[self.row(first)] <= time <= self.time[self.row(last)]:
            return np.nan
        # The ticks are even apart from jitter: start from an estimate, then search a few steps.
        tick = int(np.clip(last - (self.time[self.row(last)] - time) / self.period, first, last - 1))
        while tick > first and self.time[self.row(tick)] > time:
            tick -= 1
        while tick < last - 1 and self.time[self.row(tick + 1)] < time:
            tick += 1
        before, after = self.time[self.row(tick)], self.time[self.row(tick + 1)]
        return tick + (time - before) / max(after - before, 1e-6)

    def joint_at(self, place: float, joint: int) -> tuple[float, float, float]:
        """Modelled angle [rad], its rate [rad/s] and set-point lead [rad] of a joint at a fractional tick."""
        tick = int(place)
        share = place - tick
        a, b = self.row(tick), self.row(tick + 1)
        q = (1.0 - share) * self.q[a, joint] + share * self.q[b, joint]
        target = (1.0 - share) * self.targets[a, joint] + share * self.targets[b, joint]
        return q, (self.q[b, joint] - self.q[a, joint]) / self.period, target - q
