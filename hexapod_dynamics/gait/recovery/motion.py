"""Set-points of a robot that gets up: moves of all joints to a pose, joints that follow, joints that give way."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.recovery.poses import GetUpPoses, GetUpSettings, Phase
from hexapod_dynamics.robot import Morphology, Robot


class Motion:
    """The phase of a robot that gets up, with its move of all joints from the angles `origin` to `goal`.

    moves (n,): joints that can be commanded; spare (n,): joints of legs that are damaged but exist. setpoints,
    origin, goal (n,) [rad]: NaN where a joint is not commanded. fastest [rad/s]: of the joints in this phase. time
    [s]: since the phase began; reason: why it ended or waits, in words.
    """

    def __init__(self, robot: Robot, settings: GetUpSettings, dt: float) -> None:
        self.robot, self.settings = robot, settings
        n = robot.joint_count
        self.poses = GetUpPoses(robot)
        self.moves, self.spare = np.ones(n, bool), np.zeros(n, bool)
        self.setpoints, self.origin, self.goal = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        self.follow = FollowWatch(n, dt, settings.follow_limit)
        self.time = self._lasts = self._hold = 0.0
        self.fastest = settings.speed
        self.phase, self.reason = Phase.IDLE, ""

    def adopt(self, morphology: Morphology, lost: tuple[str, ...]) -> None:
        """Adopt a Morphology; lost: names of the legs that take no part in a roll."""
        self.moves[:] = morphology.moving_mask & morphology.driven_mask
        self.spare[:] = False
        for name in lost:
            joints = self.robot.leg_joints(name)
            self.spare[joints] = morphology.existing_mask[joints].all()
        self.poses.fold_aside(self.moves)

    # ---- phases ------------------------------------------------------------------------------------------------------

    def enter(self, phase: Phase) -> None:
        """Begin a phase without a move."""
        self.phase, self.time = phase, 0.0

    def end(self, phase: Phase, reason: str) -> None:
        """End with a reason, in words."""
        self.enter(phase)
        self.reason = reason

    def move(
        self, phase: Phase, target: np.ndarray, least: float, hold: float = 0.0, most: float = float("inf")
    ) -> None:
        """Begin a phase that moves all joints uniformly to target (n,) [rad], in `least` [s] or longer, none faster
        than `most` [rad/s], then holds for `hold` [s].
        """
        self.enter(phase)
        self.origin[:] = self.setpoints
        self.goal[:] = np.where(self.moves, self.poses.within(target), np.nan)
        way = np.fmax.reduce(np.abs(self.goal - self.origin), initial=0.0)
        self.fastest = min(self.settings.speed, most)
        self._lasts, self._hold = max(least, way / self.fastest), hold

    @property
    def hold(self) -> float:
        """Longest time [s] of lying still after the present move."""
        return self._hold

    def advance(self) -> None:
        """Set the set-points to those of the present time."""
        share = min(1.0, self.time / self._lasts) if self._lasts > 0.0 else 1.0
        self.setpoints[:] = self.origin + share * (self.goal - self.origin)

    @property
    def arrived(self) -> bool:
        """Whether the set-points are at the end of the move."""
        return self.time >= self._lasts

    @property
    def over(self) -> bool:
        """Whether the move has ended, and the time after it."""
        return self.time - self._lasts >= self._hold - 1e-9

    # ---- readings ----------------------------------------------------------------------------------------------------

    def rest_at(self, readings: np.ndarray) -> None:
        """Set the set-points to where the joints are read (n,) [rad], so that no servo pushes."""
        self.setpoints[:] = np.where(self.moves, readings, np.nan)

    def begin_at(self, readings: np.ndarray) -> None:
        """Do as `rest_at`, and forget the set-points of before: what follows is compared with new ones only."""
        self.rest_at(readings)
        self.follow.start(self.setpoints)

    @property
    def blocked(self) -> np.ndarray:
        """Joints (n,) that have been far off their set-points for too long."""
        return self.follow.off_for > self.settings.follow_time

    def keep(self, joints: np.ndarray, readings: np.ndarray) -> None:
        """Let the joints of a mask (n,) keep the angles at which they are read (n,) [rad], for the rest of the move."""
        for angles in (self.origin, self.goal, self.setpoints):
            angles[joints] = readings[joints]

    def names(self, joints: np.ndarray) -> str:
        """Return the names of the joints of a mask (n,), with commas."""
        return ", ".join(name for name, one in zip(self.robot.joint_names, joints, strict=True) if one)


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


MEMORY = 0.4  # [s] by which a reading may be late, because the bus reads each servo some six times a second
STILL = 0.1  # [rad] between two readings of a joint that stands still, or nearly


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
