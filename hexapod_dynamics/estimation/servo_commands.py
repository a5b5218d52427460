"""The commands as the servos execute them: bounded, rounded to counts, and delayed."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

import numpy as np

from hexapod_dynamics.control.pose_guard import GuardSettings, PoseGuard
from hexapod_dynamics.estimation.command_history import CommandHistory
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_counts import ServoCounts


class ServoCommands:
    """Commands that are pending or executed.

    Args:
        robot: Robot.
        delay: from a command's arrival to the servos' start [s].
        period: time in which a servo moves to its target [s].
        pause: time [s] without commands after which the servos approach the next ones slowly.
        guard: bounds of the commands.

    `commanded`, `commanded_rate` (n,) [rad, rad/s] are those of the last command; `setpoints` (n,) [rad], None
    before the first command: set-points that were sent to the servos for it, NaN for servos that got none.
    """

    def __init__(
        self, robot: Robot, *, delay: float, period: float, pause: float, guard: GuardSettings | None = None
    ) -> None:
        joints = [joint for leg in robot.legs for joint in leg.joints]
        count = robot.joint_count
        self.delay, self.period, self.pause = delay, period, pause
        self.guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness, guard)
        self._counts = ServoCounts.from_robot(robot) if all(j.servo_id is not None for j in joints) else None
        self.history = CommandHistory(count, period=period)
        self.commanded, self.commanded_rate = np.full(count, np.nan), np.zeros(count)
        self.setpoints: np.ndarray | None = None
        self.torques = np.zeros(count)  # feed-forward [N m]
        self._pending: deque[tuple[float, np.ndarray, float]] = deque()  # time, set-points, interval
        self._generation = np.zeros(count, np.int64)
        self._last = -np.inf  # [s] time of the last command that was accepted

    def clear(self) -> None:
        """Delete the pending commands and the history."""
        self._pending.clear()
        self.history.clear()

    def note(self, positions: np.ndarray, rates: np.ndarray) -> None:
        """Store a command: angles (n,) [rad], NaN for joints without a command, and rates (n,) [rad/s]."""
        asked = np.isfinite(positions)
        self.commanded[asked] = positions[asked]
        self.commanded_rate[:] = np.where(asked & np.isfinite(rates), rates, 0.0)

    def accept(self, time: float, positions: np.ndarray, without: Collection[int] = ()) -> None:
        """Let the servos execute a command (n,) [rad], except the joints `without`; time: of its arrival [s]."""
        interval = self.period
        if time - self._last > self.pause:
            self.guard.pause()
        elif np.isfinite(self._last):
            interval = min(max(time - self._last, 0.5 * self.period), 2.0 * self.period)
        self._last = time
        if without:
            positions = positions.copy()
            positions[list(without)] = np.nan
        setpoints = self.guard.update(positions, self.torques, interval)
        if self._counts is not None:
            setpoints = self._counts.angles(self._counts.counts(setpoints))
        self.setpoints = setpoints
        self.history.append(time, setpoints)
        self._pending.append((time + self.delay, setpoints, interval))

    def take_due(self, time: float) -> tuple[float, np.ndarray, float] | None:
        """Return time [s], set-points (n,) [rad], interval [s] of the next command that is due, or None."""
        return self._pending.popleft() if self._pending and self._pending[0][0] <= time else None

    def synchronise(self, angles: np.ndarray, joint: int | None = None) -> None:
        """Start again from joint angles (n,) [rad], from which the servos approach the next commands slowly.

        joint: index of the only joint that starts again; by default all do.
        """
        count = len(angles)
        if joint is None:
            self._generation += 1
            self.guard.meet(self._generation, angles, np.ones(count, bool))
            return
        for _, setpoints, _ in self._pending:
            setpoints[joint] = angles[joint]
        self._generation[joint] += 1
        self.guard.meet(self._generation, angles, np.arange(count) == joint)

    def forecast(self, time: float, ahead: np.ndarray, out: np.ndarray) -> bool:
        """Write the set-points `ahead` (K,) [s] after `time` to out (K, n); return False if nothing was commanded."""
        if not self.history.count:
            return False
        # A command reaches the servos after the delay and is executed within a period.
        lag = time - self._last - self.delay - self.period
        self.history.forecast(np.maximum(ahead + lag, 0.0), out=out)
        return True
