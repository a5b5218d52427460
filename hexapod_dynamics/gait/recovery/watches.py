"""What joints and IMU of a robot that gets up tell: joints that follow, joints that give way, rest, swinging."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.robot import Robot

GRAVITY = 9.81
# A robot at rest: its gyroscope and the deviation of its specific force from gravity stay below these.
REST_RATE, REST_FORCE = 0.05, 0.6  # [rad/s], [m/s^2]
CALM_RATE = 0.5  # [rad/s] rate below which a body no longer tips over
# Upward direction, averaged over SWING_TIME [s]: one that stays within IN_PLACE [rad] is that of a robot that lies or
# swings in its place; hands that carry it sway further.
SWING_TIME, IN_PLACE = 0.5, 0.05
# A limit cycle of servos and body: the angular velocity of SWING_LOOK [s] correlates with itself one period before, of
# LONGEST [s] at most, by REPEATS. Slow pushes of 0.3 to 1 Hz against a robot that lies do not reach that.
SWING_LOOK, LONGEST, REPEATS = 3.0, 1.0, 0.9
FREE_FORCE = 3.0  # [m/s^2] specific force below which nothing holds the robot
MEMORY = 0.4  # [s] by which a reading may be late, because the bus reads each servo some six times a second
STILL = 0.1  # [rad] between two readings of a joint that stands still, or nearly
DELAY = 0.04  # [s] from a set-point to a reading of what it has done
GIVES = 0.8  # share of the torque limit that is left; servos are up to a fifth stiffer than their model
FREE = 0.01  # [rad] from where a joint has given way: one that moves so far towards the plan follows it again
INTERVALS = 64  # number of times between two readings of a servo of which the median is the period of the bus


class RestWatch:
    """How long the IMU has measured a robot at rest, one that hardly turns, one that does not leave its place though it
    may swing there, and one in free fall: at_rest, calm, in_place, falling [s].
    """

    def __init__(self) -> None:
        self.at_rest = self.calm = self.in_place = self.falling = 0.0
        self._mean, self._place = np.zeros(3), np.zeros(3)  # upward direction: without its swinging, and where it was

    def update(self, dt: float, rate: Sequence[float], force: Sequence[float], up: Sequence[float]) -> None:
        """Process a sample, dt [s] after the previous one: angular velocity [rad/s], specific force [m/s^2] and
        upward direction, (3,).
        """
        turn, size = math.hypot(*rate), math.hypot(*force)
        still = turn < REST_RATE and abs(size - GRAVITY) < REST_FORCE  # False for NaN
        self.at_rest = self.at_rest + dt if still else 0.0
        self.calm = self.calm + dt if turn < CALM_RATE else 0.0
        self.falling = self.falling + dt if size < FREE_FORCE else 0.0
        share = min(1.0, dt / SWING_TIME) if self._mean.any() else 1.0
        self._mean += share * (np.asarray(up) - self._mean)
        if math.dist(self._mean, self._place) < IN_PLACE:
            self.in_place += dt
        else:
            self._place[:], self.in_place = self._mean, 0.0


class SwingWatch:
    """Whether a robot swings by itself: servos with play and a dead zone can keep a body swinging, with one period."""

    def __init__(self, dt: float) -> None:
        self._rates = np.zeros((round(SWING_LOOK / dt), 3))
        self._next, self._lags = 0, round(LONGEST / dt)

    def update(self, rate: Sequence[float]) -> None:
        """Process an angular velocity (3,) [rad/s], dt after the previous one."""
        self._rates[self._next] = rate
        self._next = (self._next + 1) % len(self._rates)

    def repeats(self) -> bool:
        """Return whether the angular velocity repeats itself; False where a sample is not finite."""
        rates, count = np.roll(self._rates, -self._next, axis=0), len(self._rates)
        products = sum(np.correlate(one, one, "full")[count - 1 : count + self._lags] for one in rates.T)
        energy = np.concatenate([[0.0], np.cumsum(np.square(rates).sum(axis=1))])
        lags = np.arange(self._lags + 1)
        alike = products / np.sqrt((energy[-1] - energy[lags]) * energy[count - lags] + 1e-12)
        back = np.flatnonzero(alike < 0.0)  # from where on it swings the other way: the next maximum is a period later
        return bool(back.size and alike[back[0] :].max() > REPEATS)


class FollowWatch:
    """Whether joints follow their set-points: the distance (n,) [rad] of each reading from the nearest set-point of
    the last MEMORY, and for how long it has exceeded `limit` [rad] while the joint does not come closer.

    A NaN reading belongs to a missing or unknown joint, which counts as following.
    """

    def __init__(self, joints: int, dt: float, limit: float) -> None:
        self._setpoints = np.zeros((max(1, round(MEMORY / dt)), joints))
        self._next, self._limit = 0, limit
        self.error, self.off_for = np.zeros(joints), np.zeros(joints)

    def start(self, setpoints: np.ndarray) -> None:
        """Discard everything except these set-points (n,) [rad]."""
        self._setpoints[:] = setpoints
        self.error[:] = self.off_for[:] = 0.0

    def update(self, dt: float, setpoints: np.ndarray, readings: np.ndarray, moved: np.ndarray) -> None:
        """Process set-points and readings (n,) [rad], dt [s] after the previous ones.

        moved (n,) [rad]: motion from the reading before. A joint that moves away, as by a hand, does not follow.
        """
        self._setpoints[self._next] = setpoints
        self._next = (self._next + 1) % len(self._setpoints)
        low, high = self._setpoints.min(axis=0), self._setpoints.max(axis=0)
        self.error[:] = np.nan_to_num(np.maximum(low - readings, readings - high))
        comes_closer = np.where(readings < low, moved, -moved) >= STILL
        self.off_for[:] = np.where((self.error > self._limit) & ~comes_closer, self.off_for + dt, 0.0)


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
