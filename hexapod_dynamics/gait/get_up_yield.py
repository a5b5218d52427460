"""Joints that push with all their torque against something that does not move give way.

A servo of stiffness k is at its torque limit T where its error e, set-point minus angle, exceeds T / k. Angles are
known from readings only, and each servo is read a few times a second: the reading of now was taken within the last
period of the bus, so that |e| was at least the distance of the reading from all set-points of that period. Where this
distance exceeds T / k, and the reading has hardly changed since the one before, the set-point gives way to GIVES T / k
from the reading. It follows the plan again when the next reading shows that the joint moves on.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.get_up_watch import MEMORY, STILL
from hexapod_dynamics.robot import Robot

DELAY = 0.04  # [s] from a set-point to a reading of what it has done
GIVES = 0.8  # share of the torque limit that is left; servos are up to a fifth stiffer than their model
FREE = 0.01  # [rad] from where a joint has given way: one that moves so far towards the plan follows it again
INTERVALS = 64  # number of times between two readings of a servo of which the median is the period of the bus


class Yielding:
    """Set-points `sent` (n,) [rad] of joints that follow a plan; gives (n,): joints that give way; moved (n,) [rad]:
    of each joint between its last two readings.
    """

    def __init__(self, robot: Robot, dt: float) -> None:
        n = robot.joint_count
        self._error = robot.servo.torque_limit / robot.servo.stiffness  # [rad] at the torque limit
        self._back = robot.servo.speed_limit  # [rad/s]; `servos` follows a larger step slowly
        self._dt, self._delay = dt, max(1, round(DELAY / dt))
        self._before = np.full((round(MEMORY / dt) + self._delay, n), np.nan)  # set-points, the newest first
        self._ticks = np.arange(len(self._before))[:, None]
        self._intervals, self._next = np.full(INTERVALS, MEMORY), 0
        self._reading, self.moved, self._age = np.full(n, np.nan), np.zeros(n), np.full(n, MEMORY)
        self._anchor = np.zeros(n)  # angles [rad] from where on a joint that gives way has to move
        self.sent, self.gives = np.full(n, np.nan), np.zeros(n, bool)

    def begin(self) -> None:
        """Forget the set-points of before: the next ones are new."""
        self.sent[:] = np.nan

    def follow(self, dt: float, plan: np.ndarray, readings: np.ndarray, fastest: float) -> np.ndarray:
        """Return the set-points (n,) [rad] to send, dt [s] after the previous ones.

        plan (n,) [rad]: where the joints are to be, NaN where one is not commanded; readings (n,) [rad]. A joint that
        has given way comes back to the plan at `fastest` [rad/s] at most.
        """
        if not np.array_equal(np.isnan(self.sent), np.isnan(plan)):
            self.sent[:] = self._before[:] = plan
            self.gives[:] = False
        self._note(dt, readings)
        ahead, left = plan - readings, GIVES * self._error
        towards = np.sign(ahead) * (readings - self._anchor)  # NaN, and all that follows from it False, if unknown
        stuck = self._at_limit(ahead, readings) & (np.abs(self.moved) < STILL)
        begins = stuck & ~self.gives | self.gives & (towards < 0.0)
        self._anchor[begins] = readings[begins]
        self.gives = (self.gives & ~(towards > FREE) | stuck) & (np.abs(ahead) > left)
        wanted = np.where(self.gives, np.clip(plan, readings - left, readings + left), plan)
        comes_back = np.abs(wanted - readings) > np.abs(self.sent - readings)
        most = np.where(comes_back, fastest, self._back) * dt + 1e-9
        self.sent = self.sent + np.clip(wanted - self.sent, -most, most)
        self._before[1:] = self._before[:-1]
        self._before[0] = self.sent
        return self.sent.copy()

    def _note(self, dt: float, readings: np.ndarray) -> None:
        """Note how far joints have moved between their last two readings, and the greatest age of the last one.

        A reading that has changed is new. One that has not changed for a period is a second reading of a joint at rest.
        """
        period = self._period
        new = np.isfinite(readings) & (readings != self._reading)
        for interval in self._age[new & (self._age < MEMORY)]:
            self._intervals[self._next] = interval + dt
            self._next = (self._next + 1) % INTERVALS
        self._age = np.where(new, 0.0, np.minimum(self._age + dt, MEMORY))
        self.moved = np.where(new, np.nan_to_num(readings - self._reading), self.moved)
        self.moved[self._age > period - 1e-9] = 0.0
        self._reading[:] = readings

    @property
    def _period(self) -> float:
        """Longest time [s] between two readings of a servo: the bus reads one after the other."""
        return min(MEMORY, float(np.median(self._intervals)) + self._dt)

    def _at_limit(self, ahead: np.ndarray, readings: np.ndarray) -> np.ndarray:
        """Return which servos (n,) were at their torque limit when they were read, whenever in the last period that
        was.
        """
        age = np.round(np.minimum(self._age, self._period) / self._dt)
        since = self._ticks < age + self._delay
        low = np.where(since, self._before, np.inf).min(axis=0) - readings
        high = readings - np.where(since, self._before, -np.inf).max(axis=0)
        far = np.abs(ahead) > self._error
        return far & np.where(ahead > 0.0, low > self._error, high > self._error)
