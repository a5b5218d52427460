"""Commands on their way to the servos, and the commands to come that their history foretells.

CommandHistory extrapolates joint commands: periodic continuation, or a hold whose rate decays.

A walk is periodic: if the latest window of commands matches an earlier one, the commands after the earlier window
are the forecast. Without a match (standing, starting, changing speed), the last command is continued with a
decaying rate.

ServoCommands holds the commands as the servos execute them: bounded, rounded to counts, and delayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, GuardSettings, PoseGuard
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

DECAY = 0.1  # time constant of the decaying hold and of the step at the seam of a continuation [s]


class CommandHistory:
    """Stores the last seconds of joint commands at a fixed period and extrapolates them.

    width: number of joints. period [s]: time between commands.
    """

    def __init__(self, width: int, *, period: float = 0.02) -> None:
        self.width, self.period = width, period
        # The stored history, and the recent commands that must match earlier ones, of 4 and 0.4 s, if commands are not
        # slower than that: the longest period of a gait that can be found is the difference.
        self._window = max(round(0.4 / period), 2)
        self._capacity = max(round(4.0 / period), 3 * self._window)
        self._rows = np.zeros((self._capacity, width))  # the newest last
        self._errors = np.empty(self._capacity - self._window)
        self._difference = np.empty((self._errors.size, self._window, width))
        self._stamp: float | None = None
        self._lag: float | None = None
        self.clear()

    def clear(self) -> None:
        """Delete the history."""
        self.count = 0
        self._stamp = None
        self._lag, self._lag_known = None, True

    def append(self, stamp: float, positions: np.ndarray) -> None:
        """Add a command: `stamp` [s], `positions` (width,) [rad].

        Lost commands are interpolated linearly; after a gap longer than the history, or a stamp that goes back, the
        history restarts.
        """
        missed = 0
        if self._stamp is not None:
            steps = round((stamp - self._stamp) / self.period)
            if steps > self._capacity or stamp < self._stamp - self.period:
                self.clear()
            else:
                missed = max(steps - 1, 0)
        # A low-pass filtered clock follows the stamps, so that the jitter of one message is not taken for a gap.
        if self._stamp is None:
            self._stamp = stamp
        else:
            expected = self._stamp + (missed + 1) * self.period
            self._stamp = expected + 0.1 * (stamp - expected)
        if missed:
            before = self._rows[-1].copy()
            for step in range(1, missed + 1):
                self._push(before + (positions - before) * (step / (missed + 1)))
        self._push(positions)
        self._lag_known = False

    @property
    def lag(self) -> float | None:
        """The motion's period [s], or None if the recent window matches no earlier one."""
        lag = self._find_lag()
        return None if lag is None else lag * self.period

    def forecast(self, ahead: npt.ArrayLike) -> np.ndarray:
        """Return the commands `ahead` (K,) [s] after the last one, as (K, width) [rad]."""
        ahead = np.asarray(ahead, dtype=float)
        if self.count == 0:
            raise HexapodError("no command has been received: there is nothing to extrapolate")
        last = self._rows[-1]
        fade = np.exp(-ahead / DECAY)[:, None]
        lag = self._find_lag()
        if lag is None:
            previous = self._recent()[-2] if self.count > 1 else last
            return last + (last - previous) / self.period * DECAY * (1 - fade)
        steps = ahead / self.period
        back = lag * np.ceil(np.maximum(steps, 1e-9) / lag) - steps  # number of rows before the last one, >= 0
        seam = last - self._interpolate(np.array([lag]))[0]
        return self._interpolate(back) + fade * seam

    def _recent(self) -> np.ndarray:
        return self._rows[self._capacity - self.count :]

    def _push(self, positions: np.ndarray) -> None:
        self._rows[:-1] = self._rows[1:]
        self._rows[-1] = positions
        self.count = min(self.count + 1, self._capacity)

    def _interpolate(self, back: np.ndarray) -> np.ndarray:
        rows = self._recent()
        place = len(rows) - 1 - back
        below = np.clip(np.floor(place).astype(int), 0, len(rows) - 2)
        share = (place - below)[:, None]
        return rows[below] * (1 - share) + rows[below + 1] * share

    def _find_lag(self) -> float | None:
        """Return the period in rows, searched at most once after each command, when it is needed."""
        if not self._lag_known:
            long_enough = self.count == self._capacity or self.count > 3 * self._window
            self._lag, self._lag_known = self._search_lag() if long_enough else None, True
        return self._lag

    def _search_lag(self) -> float | None:
        rows, size = self._recent(), self._window
        window = rows[-size:]
        motion = np.sqrt(np.mean(np.square(window - window.mean(axis=0))))
        if motion < 2e-3:  # [rad]: the joints are at rest
            return None
        lags = len(rows) - size  # lag l compares rows[-size-l : -l] with the window
        past = np.lib.stride_tricks.sliding_window_view(rows, size, axis=0)[:lags].transpose(0, 2, 1)
        difference = np.subtract(past, window, out=self._difference[:lags])
        error = np.einsum("lwj,lwj->l", difference, difference, out=self._errors[:lags])[::-1]
        error = error / (size * self.width)  # error[l - 1] belongs to lag l
        before, here, after = error[:-2], error[1:-1], error[2:]
        curvature = before - 2 * here + after
        # A period between two rows matches no row exactly: the minimum of a parabola through three errors is used.
        least = here - (before - after) ** 2 / (8 * np.where(curvature > 0, curvature, np.inf))
        dips = np.flatnonzero((here <= before) & (here < after) & (least < (0.1 * motion) ** 2))
        # A slow motion matches itself at short lags: a lag is a period only if there is no match at some shorter lag.
        for dip in dips:
            if error[: dip + 1].max() > motion**2:
                return dip + 2 + 0.5 * (before[dip] - after[dip]) / curvature[dip]
        return None


class ServoCommands:
    """Commands that are pending or executed.

    Args:
        robot: Robot.
        delay: from a command's arrival to the servos' start [s].
        period: time in which a servo moves to its target [s].
        guard: bounds of the commands.

    `commanded`, `commanded_rate` (n,) [rad, rad/s] are those of the last command; `setpoints` (n,) [rad], None
    before the first command: set-points that were sent to the servos for it, NaN for servos that got none.
    """

    def __init__(self, robot: Robot, *, delay: float, period: float, guard: GuardSettings | None = None) -> None:
        count = robot.joint_count
        self.delay, self.period = delay, period
        self.guard = PoseGuard.from_robot(robot, guard)
        self._servo_map = ServoMap.from_robot(robot) if all(j.servo_id is not None for j in robot.joints) else None
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
        if time - self._last > COMMAND_TIMEOUT:
            self.guard.pause()
        elif np.isfinite(self._last):
            interval = min(max(time - self._last, 0.5 * self.period), 2.0 * self.period)
        self._last = time
        if without:
            positions = positions.copy()
            positions[list(without)] = np.nan
        setpoints = self.guard.update(positions, self.torques, interval)
        if self._servo_map is not None:
            setpoints = self._servo_map.quantise(setpoints)
        self.setpoints = setpoints
        self.history.append(time, setpoints)
        self._pending.append((time + self.delay, setpoints, interval))

    def next_due(self, time: float) -> tuple[float, np.ndarray, float] | None:
        """Return time [s], set-points (n,) [rad], interval [s] of the next command that is due, or None."""
        return self._pending.popleft() if self._pending and self._pending[0][0] <= time else None

    def synchronise(self, angles: np.ndarray, joint: int | None = None) -> None:
        """Start again from joint angles (n,) [rad], from which the servos approach the next commands slowly.

        joint: index of the only joint that starts again; by default all do.
        """
        count = len(angles)
        if joint is None:
            self._generation += 1
            self.guard.synchronise_setpoint(self._generation, angles, np.ones(count, bool))
            return
        for _, setpoints, _ in self._pending:
            setpoints[joint] = angles[joint]
        self._generation[joint] += 1
        self.guard.synchronise_setpoint(self._generation, angles, np.arange(count) == joint)

    def have_stopped(self, time: float) -> bool:
        """Return whether no command was accepted lately, so that the servos hold."""
        return not self.history.count or time - self._last > COMMAND_TIMEOUT

    def find_period(self, time: float) -> float | None:
        """Return the period [s] of the commanded motion; None if it has none, or has stopped."""
        return None if self.have_stopped(time) else self.history.lag

    def forecast(self, time: float, ahead: np.ndarray) -> np.ndarray | None:
        """Return the set-points (K, n) `ahead` (K,) [s] after `time`; None if the servos hold theirs."""
        if self.have_stopped(time):
            return None
        # A command reaches the servos after the delay and is executed within a period.
        lag = time - self._last - self.delay - self.period
        return self.history.forecast(np.maximum(ahead + lag, 0.0))
