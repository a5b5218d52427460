"""The RunningModel under the commands as the servos execute them: bounded by the guard, rounded, delayed."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, PoseGuard
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.timing import LATE
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot


class CommandedModel:
    """Advances a RunningModel by one tick for each command; all times are seconds on one clock.

    last_command: time of the last command. late_at: time of the last `advance` in which a command came too late.
    """

    def __init__(self, robot: Robot, settings: DetectorSettings) -> None:
        n = robot.joint_count
        self._settings, self._servo = settings, robot.servo
        self._guard = PoseGuard.of_robot(robot)
        self.model = RunningModel(robot, settings.command_period, settings.timestep)
        self._torques = np.zeros(n)
        self._generation = np.zeros(n, np.int64)
        self._commands: deque[tuple[float, np.ndarray]] = deque()
        self._delay = settings.command_delay
        self._tick_time, self._last = 0.0, math.inf  # of the last tick and the last command executed
        self.last_command = self.late_at = -math.inf

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
        return True

    def advance(self, time: float) -> None:
        """Execute the commands that the servos have executed until `time`; HexapodError if the model is not
        finite.
        """
        s = self._settings
        while self._commands and self._commands[0][0] <= time - self._delay:
            at, positions = self._commands.popleft()
            if at - self._tick_time > LATE:
                self.late_at = time
            if at - self._last > COMMAND_TIMEOUT:
                self._guard.pause()
            self._last = at
            while at - self._tick_time > 2.5 * s.command_period:
                self._hold(self._tick_time + s.command_period)
            interval = min(max(at - self._tick_time, 0.5 * s.command_period), 2.0 * s.command_period)
            self._tick(at, self._guard.update(positions, self._torques, interval))
        while time - self._tick_time > 0.1 + self._delay:  # five commands late: the servos hold
            self._hold(self._tick_time + s.command_period)

    def _executed(self, at: float) -> float:
        """Time at which the servos have reached a command of the time `at`."""
        return at + self._delay + self._settings.command_period

    def _hold(self, at: float) -> None:
        self._tick(at, np.full(len(self._torques), np.nan))

    def _tick(self, at: float, setpoints: np.ndarray) -> None:
        self._tick_time = at
        self.model.step(self._executed(at), self._servo.quantised(setpoints))
        if not np.isfinite(self.model.model.position).all():
            raise HexapodError("the detector's model is not finite: it starts again")
