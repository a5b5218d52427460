"""Waits until a robot is at rest, before anything moves, and what the IMU tells about it; where the robot swings by
itself, its joints give way. Before any larger motion each joint is tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, auto

import numpy as np

from hexapod_dynamics.gait.recovery.motion import Motion
from hexapod_dynamics.gait.recovery.poses import ANNOUNCES, Phase, Sensed

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
# [rad] by which each joint is tried, share of it that it must move, how often: towards a pose, then away from it.
NUDGE, ANSWER, TRIES = 0.1, 0.4, 2
LIFT = 0.2  # [rad] by which a femur lifts a foot off the ground, which may hold the other joints of the leg by friction


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


class JointProbe:
    """Tests whether each joint moves after a small command, before any larger motion; a joint that is held does
    not.

    answered (n,): joints that have moved, and those that are not tried; before (n,) [rad]: their initial angles.
    tries: number of calls of `targets`.
    """

    def __init__(self, joints: int) -> None:
        self.answered, self.tries = np.zeros(joints, bool), 0
        self.before = np.zeros(joints)

    def start(self, tried: np.ndarray, readings: np.ndarray) -> None:
        """Begin with the joints of the mask `tried` (n,), which are at `readings` (n,) [rad]."""
        self.before[:] = readings
        self.answered[:] = ~tried
        self.tries = 0

    def targets(self, towards: np.ndarray) -> np.ndarray:
        """Return set-points (n,) [rad]: NUDGE towards a pose (n,), then away from it, for joints that have not
        answered.
        """
        way = np.where(towards >= self.before, NUDGE, -NUDGE)
        self.tries += 1
        return self.before + np.where(self.answered, 0.0, way if self.tries == 1 else -way)

    def lifted(self, towards: np.ndarray) -> np.ndarray:
        """Return set-points (n,) [rad] as `targets`, but with the femur of each leg whose joints have not all answered
        raised by LIFT: for a robot that stands, after the other tries.
        """
        out = self.targets(towards)
        stands = ~self.answered.reshape(-1, 3).all(axis=1)
        out[1::3][stands] = self.before[1::3][stands] + LIFT
        return out

    def update(self, readings: np.ndarray) -> bool:
        """Note which joints have moved, from the readings (n,) [rad]; return whether every joint has."""
        self.answered |= np.abs(readings - self.before) > ANSWER * NUDGE
        return bool(self.answered.all())


# A robot that swings where it lies for EASES, without rest for STEADY, lets its joints give way for YIELDS [s]; then
# again, for longer.
EASES, STEADY, YIELDS = 3.0, 0.5, 0.5


class Wait(Enum):
    """What a wait has come to."""

    GOES_ON = auto()
    RESTED = auto()
    FAILED = auto()


class Waiting:
    """Waits for rest in the phases that need it; rest: what the IMU measures; eased: how often the joints have given
    way in this phase; reason: why it failed, in words.
    """

    def __init__(self, motion: Motion, dt: float) -> None:
        self._motion, self._settings = motion, motion.settings
        self.rest, self._swing = RestWatch(), SwingWatch(dt)
        self._lacks = ""  # measurements that are missing now, in words
        self.reason = ""
        self._clear()

    def begin(self, phase: Phase) -> None:
        """Begin a phase that waits."""
        self._motion.enter(phase)
        self._clear()

    def _clear(self) -> None:
        self._waited = self._lacked = self._yields = 0.0
        self.eased = 0

    def sense(self, dt: float, sensed: Sensed) -> None:
        """Process a sample of the IMU, dt [s] after the previous one."""
        self.rest.update(dt, sensed.rate, sensed.force, sensed.up)
        self._swing.update(sensed.rate)

    def lack(self, what: str) -> None:
        """Note missing measurements, in words: until they arrive the robot is not at rest."""
        self._lacks, self.rest.at_rest = what, 0.0

    def step(self, dt: float, sensed: Sensed) -> Wait:
        """Advance by dt [s]; return whether the robot has rested, or will not."""
        settings, phase = self._settings, self._motion.phase
        lacks, self._lacks = self._lacks or self._unread(sensed), ""
        if lacks and phase is Phase.ANNOUNCED:
            self._lacked += dt
            return self._fails(lacks) if self._lacked > settings.readings else Wait.GOES_ON
        self._waited += dt
        needed = settings.announce if phase in ANNOUNCES else settings.settle
        if self.rest.at_rest >= needed:
            return Wait.RESTED
        if self._waited > settings.patience + needed:
            return self._fails("the robot does not come to rest: it is being carried, held or shaken")
        if self._waited >= EASES * (self.eased + 1) and self._swings():
            self.eased += 1
            self._yields = YIELDS * self.eased
            if phase is Phase.ANNOUNCED:
                self._motion.reason = "it swings where it lies, the joints give way"
        if self._yields > 0.0:
            self._yields -= dt
            self._motion.rest_at(sensed.joints)
        return Wait.GOES_ON

    def _fails(self, reason: str) -> Wait:
        self.reason = reason
        return Wait.FAILED

    def _unread(self, sensed: Sensed) -> str:
        """Return the joints that have not been read, in words; empty if there are none."""
        unknown = self._motion.moves & ~np.isfinite(sensed.joints)
        if not unknown.any():
            return ""
        return f"{self._motion.names(unknown)}: no reading; declare what is lost (set_morphology), then ask again"

    def _swings(self) -> bool:
        """Return whether the robot swings where it lies, by itself, and does not come to rest."""
        rest = self.rest
        return rest.at_rest < STEADY and rest.in_place >= EASES and self._swing.repeats()
