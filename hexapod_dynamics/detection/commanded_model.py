"""The RunningModel under the commands as the servos execute them: bounded by the guard, rounded, delayed."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, PoseGuard
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot


class CommandedModel:
    """Advances a RunningModel by one tick for each command; all times are seconds on one clock.

    last_command: time of the last command. late_at: time of the last `advance` in which a command came too late.
    in_step_from: tick of the model from which on it has the same set-points as the servos. After a start, or a
    pause of the commands, model and servos approach the commands from different assumed joint angles; until they
    agree, in_step_from is infinite.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings) -> None:
        joints = [joint for leg in robot.legs for joint in leg.joints]
        n = robot.joint_count
        self._settings, self._resolution = settings, robot.servo.resolution
        self._guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness)
        self.model = RunningModel(
            robot, settings.command_period, settings.timestep, settings.slice_ticks, settings.limits
        )
        self._torques = np.zeros(n)
        self._generation = np.zeros(n, np.int64)
        self._commands: deque[tuple[float, np.ndarray]] = deque()
        self.delay = settings.command_delay  # [s] from a command to the servos, as identified
        self._tick_time, self._last = 0.0, math.inf  # of the last tick and the last command executed
        self.last_command = self.late_at = -math.inf
        self.in_step_from, self._starts_at = math.inf, 0

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Add a command: joint angles (n,) [rad], NaN: no command; torques (n,) [N m]: feed-forward."""
        if torques is not None:
            self._torques[:] = torques
        self._commands.append((time, np.array(positions, float)))
        self.last_command = time

    def clear(self) -> None:
        """Discard the commands that have not been executed, and the model's state."""
        self.model.started = False
        self._commands.clear()

    def start(self, angles: np.ndarray, morphology: Morphology) -> bool:
        """Start the model at the last command and the measured angles (n,) [rad], NaN: not measured; False: too few."""
        ready = np.isfinite(angles) | ~morphology.existing_mask
        if not self._commands or not ready.mean() > 0.8:
            while len(self._commands) > 5:
                self._commands.popleft()
            return False
        begin, positions = self._commands[-1]
        start = np.where(np.isfinite(angles), angles, np.nan_to_num(positions))
        self._generation += 1
        self._guard.synchronise_setpoint(self._generation, start, np.ones(len(start), bool))
        self.model.start(self._executed(begin), start, morphology)
        self._commands.clear()
        self._tick_time = self._last = begin
        self._fall_out_of_step()
        return True

    def _fall_out_of_step(self) -> None:
        settles = round(self._settings.limits.model_settles / self._settings.command_period)
        self.in_step_from, self._starts_at = math.inf, self.model.tick + settles

    def advance(self, time: float) -> None:
        """Execute the commands that the servos have executed until `time`; HexapodError if the model is not
        finite.
        """
        s = self._settings
        while self._commands and self._commands[0][0] <= time - self.delay:
            at, positions = self._commands.popleft()
            if at - self._tick_time > s.limits.command_gap:
                self.late_at = time
            if at - self._last > COMMAND_TIMEOUT:
                self._guard.pause()
                self._fall_out_of_step()
            self._last = at
            while at - self._tick_time > 2.5 * s.command_period:
                self._hold(self._tick_time + s.command_period)
            interval = min(max(at - self._tick_time, 0.5 * s.command_period), 2.0 * s.command_period)
            self._tick(at, self._guard.update(positions, self._torques, interval))
            if self.model.tick >= self._starts_at and math.isinf(self.in_step_from):
                if self._guard.following[np.isfinite(positions)].all():
                    self.in_step_from = self.model.tick
        while time - self._tick_time > s.limits.command_pause + self.delay:
            self._hold(self._tick_time + s.command_period)

    def set_servos(self, delay: float, zone: float) -> None:
        """Let the servos start `delay` [s] after a command, with a dead zone of +-`zone` [rad]; the times of past
        states are corrected.
        """
        self.model.time += delay - self.delay
        self.delay = delay
        self.model.set_dead_zone(zone)

    def _executed(self, at: float) -> float:
        """Time at which the servos have reached a command of the time `at`."""
        return at + self.delay + self._settings.command_period

    def _hold(self, at: float) -> None:
        self._tick(at, np.full(len(self._torques), np.nan))

    def _tick(self, at: float, setpoints: np.ndarray) -> None:
        self._tick_time = at
        self.model.step(self._executed(at), np.round(setpoints / self._resolution) * self._resolution)
        if not np.isfinite(self.model.model.position).all():
            raise HexapodError("the detector's model is not finite: it starts again")
