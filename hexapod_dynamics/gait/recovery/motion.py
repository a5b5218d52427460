"""How the joints of a robot that gets up move, and what joints and IMU show: rest, swinging, joints that are late."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.robot import Robot

# Of a body at rest: angular velocity [rad/s], some times the noise of the IMU, and specific force [m/s^2] off that of
# gravity, as far as an MPU6050 errs; of one that does not turn further; share of gravity below which it falls freely.
REST_RATE, REST_FORCE, CALM_RATE, FALL_SHARE = 0.05, 0.6, 0.5, 0.3
LONGEST_SWING = 1.0  # [s] period of a body that swings where it lies
IN_PLACE = 0.05  # [rad] by which its mean upward direction moves meanwhile: hands that carry it sway further
EASING_DELAY = 3.0 * LONGEST_SWING  # [s] for which a robot swings where it lies before its joints give way
MEMORY = 0.4  # [s] by which a reading may be late, because the bus reads each servo some six times a second
READINGS = 64  # whose intervals are known: some of each servo
OFF = 0.6  # [rad] of a joint that does not follow: one at its speed limit is less than that behind
STILL_DISTANCE = 0.1  # [rad] between two readings of a joint that stands still, or nearly
DELAY = 0.04  # [s] from a set-point to a reading of what it has done
YIELD_SHARE = 0.8  # share of the torque limit that is left; servos are up to a fifth stiffer than their model
FREE_DISTANCE = 0.01  # [rad] from where a joint has given way: one that moves so far towards the plan follows it again
LIMIT_MARGIN = 0.03  # [rad] from the joint limits
NUDGE = 0.1  # [rad] by which each joint is tried, in NUDGE_TIME [s]; one that moves by MOVED of it is not held
NUDGE_TIME, MOVED = 0.25, 0.4
LIFT = 0.2  # [rad] by which a femur lifts a foot off the ground, which may hold the other joints of the leg by friction


@dataclass
class Measured:
    """Present measurements: joints (n,) [rad], NaN if not known; of base_link, in its own axes, the upward
    direction (3,), the angular velocity (3,) [rad/s] and the specific force (3,) [m/s^2].
    """

    joints: np.ndarray
    up: Sequence[float]
    rate: Sequence[float]
    force: Sequence[float]


def find_seat(gait: Gait) -> np.ndarray:
    """Let a gait sit without a robot; return its joint angles (n,) [rad], those of standing if it cannot sit."""
    gait.reset()
    with suppress(HexapodError):
        gait.sit()
        for _ in range(500):
            if gait.doing != "sitting":
                gait.step(0.02)
    return gait.position.copy()


class RestWatch:
    """How long the IMU has measured a robot at rest, one that hardly turns, one that does not leave its place though it
    may swing there, and one in free fall: at_rest, calm, in_place, falling [s]. gravity [m/s^2].
    """

    def __init__(self, dt: float, gravity: float) -> None:
        self._gravity = gravity
        self.at_rest = self.calm = self.in_place = self.falling = 0.0
        self._mean, self._place = np.zeros(3), np.zeros(3)  # upward direction: without its swinging, and where it was
        self._rates = np.zeros((round(EASING_DELAY / dt), 3))  # [rad/s] the last ones
        self._lags = round(LONGEST_SWING / dt)

    def update(self, dt: float, rate: Sequence[float], force: Sequence[float], up: Sequence[float]) -> None:
        """Process angular velocity [rad/s], specific force [m/s^2] and upward direction (3,), dt [s] after the last."""
        turn, size = math.hypot(*rate), math.hypot(*force)  # [rad/s], [m/s^2]
        still = turn < REST_RATE and abs(size - self._gravity) < REST_FORCE  # False for NaN
        self.at_rest = self.at_rest + dt if still else 0.0
        self.calm = self.calm + dt if turn < CALM_RATE else 0.0
        self.falling = self.falling + dt if size < FALL_SHARE * self._gravity else 0.0
        share = min(1.0, dt / (0.5 * LONGEST_SWING)) if self._mean.any() else 1.0
        self._mean += np.nan_to_num(share * (np.asarray(up) - self._mean))  # what is not known changes nothing
        if math.dist(self._mean, self._place) < IN_PLACE:
            self.in_place += dt
        else:
            self._place[:], self.in_place = self._mean, 0.0
        self._rates[:-1] = self._rates[1:]
        self._rates[-1] = rate

    def is_swinging(self) -> bool:
        """Return whether the body is in a limit cycle without being pushed: play and dead zone of the servos cause it.

        Criterion: over EASING_DELAY the autocorrelation of the angular velocity, at a lag of one period, exceeds 0.9.
        Slow pushes of 0.3 to 1 Hz against a lying robot do not reach that. False for samples that are not finite.
        """
        if self.at_rest >= 0.5 * LONGEST_SWING or self.in_place < EASING_DELAY:
            return False
        rates, count = self._rates, len(self._rates)
        products = sum(np.correlate(one, one, "full")[count - 1 : count + self._lags] for one in rates.T)
        energy = np.concatenate([[0.0], np.cumsum(np.square(rates).sum(axis=1))])
        lags = np.arange(self._lags + 1)
        alike = products / np.sqrt((energy[-1] - energy[lags]) * energy[count - lags] + 1e-12)
        back = np.flatnonzero(alike < 0.0)  # from where on it swings the other way: the next maximum is a period later
        return bool(back.size and alike[back[0] :].max() > 0.9)


class FollowWatch:
    """Whether joints follow their set-points: the distance (n,) [rad] of each reading from the nearest set-point of
    the last MEMORY, and for how long it has exceeded OFF while the joint does not come closer.

    A NaN reading belongs to a missing or unknown joint, which counts as following.
    """

    def __init__(self, joints: int, dt: float) -> None:
        self._setpoints = np.zeros((max(1, round(MEMORY / dt)), joints))
        self.error, self.off_for = np.zeros(joints), np.zeros(joints)

    def start(self, setpoints: np.ndarray) -> None:
        """Discard everything except these set-points (n,) [rad]."""
        self._setpoints[:] = setpoints
        self.error[:] = self.off_for[:] = 0.0

    def update(self, dt: float, setpoints: np.ndarray, readings: np.ndarray, moved: np.ndarray) -> None:
        """Process set-points and readings (n,) [rad], dt [s] after the previous ones.

        moved (n,) [rad]: motion from the reading before. A joint that moves away, as by a hand, does not follow.
        """
        self._setpoints[1:] = self._setpoints[:-1]
        self._setpoints[0] = setpoints
        low, high = self._setpoints.min(axis=0), self._setpoints.max(axis=0)
        self.error[:] = np.nan_to_num(np.maximum(low - readings, readings - high))
        comes_closer = np.where(readings < low, moved, -moved) >= STILL_DISTANCE
        self.off_for[:] = np.where((self.error > OFF) & ~comes_closer, self.off_for + dt, 0.0)


class YieldControl:
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
        self._intervals, self._next = np.full(READINGS, MEMORY), 0  # [s] between readings of a servo: the last ones
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
        ahead, left = plan - readings, YIELD_SHARE * self._error
        towards = np.sign(ahead) * (readings - self._anchor)  # NaN, and all that follows from it False, if unknown
        stuck = self._at_limit(ahead, readings) & (np.abs(self.moved) < STILL_DISTANCE)
        begins = stuck & ~self.gives | self.gives & (towards < 0.0)
        self._anchor[begins] = readings[begins]
        self.gives = (self.gives & ~(towards > FREE_DISTANCE) | stuck) & (np.abs(ahead) > left)
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
            self._next = (self._next + 1) % len(self._intervals)
        self._age = np.where(new, 0.0, np.minimum(self._age + dt, MEMORY))
        self.moved = np.where(new, np.nan_to_num(readings - self._reading), self.moved)
        self.moved[self._age > period - 1e-9] = 0.0
        self._reading[:] = readings

    @property
    def _period(self) -> float:
        """Longest time [s] between two readings of a servo: the bus reads one after the other."""
        return min(MEMORY, float(np.median(self._intervals)) + self._dt)

    def _at_limit(self, ahead: np.ndarray, readings: np.ndarray) -> np.ndarray:
        """Return which servos (n,) were at their torque limit when they were read, in the last period."""
        age = np.round(np.minimum(self._age, self._period) / self._dt)
        since = self._ticks < age + self._delay
        low = np.where(since, self._before, np.inf).min(axis=0) - readings
        high = readings - np.where(since, self._before, -np.inf).max(axis=0)
        far = np.abs(ahead) > self._error
        return far & np.where(ahead > 0.0, low > self._error, high > self._error)


class JointMotion:
    """Motions of the joints of a robot that gets up, to targets; a joint that pushes in vain gives way (Yielding).

    moves (n,): joints that can be commanded. setpoints, origin, goal (n,) [rad]: now, and of the present move, NaN
    where a joint is not commanded. readings (n,) [rad], NaN where unknown. time [s]: since the phase began.
    """

    def __init__(self, robot: Robot, speed: float, dt: float) -> None:
        n, limits = robot.joint_count, np.array([joint.planned_range for joint in robot.joints])
        self._names, self._speed = robot.joint_names, speed
        self._low, self._high = limits[:, 0] + LIMIT_MARGIN, limits[:, 1] - LIMIT_MARGIN
        self.moves, self.readings, self.setpoints = np.ones(n, bool), np.full(n, np.nan), np.full(n, np.nan)
        self.origin, self.goal = np.zeros(n), np.zeros(n)
        self.time = self._lasts = self._hold = 0.0  # [s] of the phase, of the move, of lying still after it
        self._fastest = speed
        self.follow, self.yielding = FollowWatch(n, dt), YieldControl(robot, dt)

    def list_names(self, joints: np.ndarray) -> str:
        """Return the names of the joints of a mask (n,), with commas."""
        return ", ".join(name for name, one in zip(self._names, joints, strict=True) if one)

    def sense(self, dt: float, readings: np.ndarray, moving: bool) -> None:
        """Process readings (n,) [rad], dt [s] after the previous ones; moving: whether joints are to follow."""
        self.time += dt
        self.readings = readings
        if moving:
            self.follow.update(dt, self.setpoints, readings, self.yielding.moved)

    def send(self, dt: float) -> np.ndarray:
        """Return the set-points (n,) [rad] to command, dt [s] after the previous ones."""
        return self.yielding.follow(dt, self.setpoints, self.readings, self._fastest)

    def clamp(self, angles: np.ndarray) -> np.ndarray:
        """Return joint angles (n,) [rad] bounded by the joint limits."""
        return np.clip(angles, self._low, self._high)

    def rest_at_readings(self) -> None:
        """Set the set-points to where the joints are read, so that no servo pushes."""
        self.setpoints[:] = np.where(self.moves, self.readings, np.nan)

    def begin_at_readings(self) -> None:
        """Do as `rest_at_readings`, and forget the set-points of before: new ones only are compared with readings."""
        self.rest_at_readings()
        self.follow.start(self.setpoints)

    def begin(self, target: np.ndarray, least: float, hold: float = 0.0, most: float = math.inf) -> None:
        """Begin to move all joints uniformly to target (n,) [rad], in `least` [s] or longer, none faster than `most`
        [rad/s], and then to hold for `hold` [s].
        """
        self.time = 0.0
        self.origin[:] = self.setpoints
        self.goal[:] = np.where(self.moves, self.clamp(target), np.nan)
        way = np.fmax.reduce(np.abs(self.goal - self.origin), initial=0.0)
        self._fastest = min(self._speed, most)
        self._lasts, self._hold = max(least, way / self._fastest), hold

    def advance(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Set the set-points of the present time; return whether the move has ended, or need not be held any longer."""
        share = min(1.0, self.time / self._lasts) if self._lasts > 0.0 else 1.0
        self.setpoints[:] = self.origin + share * (self.goal - self.origin)
        held = self.time - self._lasts
        return held >= self._hold - 1e-9 or (held >= 0.0 and is_over())

    def move(
        self, target: np.ndarray, least: float, is_over: Callable[[], bool] = lambda: False, **limits: float
    ) -> Iterator[None]:
        """Make a move, a tick for each `yield`; limits: as in `begin`."""
        self.begin(target, least, **limits)
        while True:
            yield
            if self.advance(is_over):
                return

    def probe(self, towards: np.ndarray, stands: Callable[[], bool]) -> Generator[None, None, np.ndarray]:
        """Try whether each joint moves after a small command; return those (n,) bool that are held and do not.

        The joints are moved by NUDGE towards a pose (n,) [rad], then those that have not answered away from it. After
        these tries, of a robot that stands, the femur of each leg whose joints have not all answered is raised.
        """
        self.begin_at_readings()
        before, left = self.readings.copy(), self.moves.copy()

        def all_have_moved() -> bool:
            left[:] &= ~(np.abs(self.readings - before) > MOVED * NUDGE)
            return not left.any()

        way = np.where(towards >= before, NUDGE, -NUDGE)
        for tries in count(1):
            target = before + np.where(left, way if tries == 1 else -way, 0.0)
            if tries > 2:
                caught = left.reshape(-1, 3).any(axis=1)
                target[1::3][caught] = before[1::3][caught] + LIFT
            # Readings may be late: each joint is waited for until it has been read at its new angle, 1 s at most.
            yield from self.move(target, NUDGE_TIME, hold=1.0, is_over=all_have_moved)
            if all_have_moved() or tries >= 2 + stands():
                break
        return left
