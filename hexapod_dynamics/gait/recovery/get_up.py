"""Gets up again: from any attitude on the ground to standing on the legs that are left, as one state machine.

Measurements decide at the end of each `Phase` which one follows:

    IDLE, DONE, STOPPED, FAILED      no joint is commanded; `begin` leads to ANNOUNCED
    ANNOUNCED  waits for rest        -> PROBE; FAILED if the robot does not come to rest
    PROBE      tries each joint      -> STAR; STOPPED if a joint does not move, because somebody holds it
    STAR       legs straight out     -> LIES when all moves of the way (untangle.py) are done
    LIES       waits for rest        -> STAR by another way if legs are tangled; on an edge TOPPLE; on the back ROLL;
                                        on the belly TUCK, or RAISE first where something was in the way
    TOPPLE     legs below the body   -> STAR
    ROLL       poses of a manoeuvre  -> TUCK after the last one; a second attempt is slow
    RAISE      all femurs up         -> TUCK
    TUCK       legs to their seat    -> STAND when upright, else STAR
    STAND      follows the gait      -> DONE at rest and upright, else FAILED
    BLOCKED    after a joint that does not follow: all joints stop, waits for rest -> PROBE

    ANNOUNCED -> PROBE -> STAR -> LIES -> ROLL -> TUCK -> STAND -> DONE
                   ^       ^ ^      |-> TOPPLE -> STAR |
                BLOCKED    | `------'                  |
                           `---------------------------'

In STAR a robot lies flat on its belly or on its back, from any attitude. A leg that is damaged but exists takes no part
at first, except where only its coxa is damaged, or of a middle leg only its femur; its blocked joints keep their
angles. A joint that pushes in vain with all its torque gives way (watches.Yielding). A free fall ends the motion. A
robot that swings where it lies, by itself, lets its joints give way until it rests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hexapod_dynamics.errors import HexapodError, require_positive
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary, joint_poses, pose_angles
from hexapod_dynamics.gait.recovery.untangle import LegSpace, untangled
from hexapod_dynamics.gait.recovery.watches import MEMORY, FollowWatch, RestWatch, SwingWatch, Yielding
from hexapod_dynamics.robot import Leg, Morphology, Robot


class Phase(Enum):
    """The action of the robot, in words for logs."""

    IDLE = "idle"
    ANNOUNCED = "about to get up"
    BLOCKED = "waits, because something is in the way"
    PROBE = "trying the joints"
    STAR = "spreading the legs"
    TOPPLE = "toppling off its edge"
    LIES = "lying"
    ROLL = "turning over"
    RAISE = "raising the legs"
    TUCK = "tucking the legs"
    STAND = "standing up"
    DONE = "stands"
    STOPPED = "stopped"
    FAILED = "gave up"


ENDED = (Phase.IDLE, Phase.DONE, Phase.STOPPED, Phase.FAILED)
ROLLS_OR_RISES = (Phase.ROLL, Phase.RAISE, Phase.TUCK, Phase.STAND)
ANNOUNCES = (Phase.ANNOUNCED, Phase.BLOCKED)  # phases that announce a motion
WAITS = (*ANNOUNCES, Phase.LIES)  # phases that wait for rest, without motion

# Upward component of the body's z axis of a robot that is upright, that lies flat, that stands on an edge (its size).
UPRIGHT, FLAT, EDGE = 0.9, 0.85, 0.6
# Coxa, femur, tibia [rad] of each leg. STAR: straight out, the robot lies flat on its belly or on its back, from any
# attitude. FOLDED, below the body: a leg that takes no part in a roll; with a coxa that does not move: TUCK. OVER: all
# legs below the body, onto which a robot topples that stands on its edge.
STAR, TUCK, FOLDED, OVER = (0.0, 0.0, 1.17), (0.0, 1.6, -1.0), (0.0, -1.6, -1.2), (0.0, -1.6, 0.0)
WITHIN = 0.03  # [rad] from the joint limits
LEAST_TIBIA = 0.7  # share of a tibia below which its leg cannot push
# [rad] by which each joint is tried, share of it that it must move, how often: towards a pose, then away from it.
NUDGE, ANSWER, TRIES = 0.1, 0.4, 2
LIFT = 0.2  # [rad] by which a femur lifts a foot off the ground, which may hold the other joints of the leg by friction
PROBE_HOLD = 1.0  # [s] longest wait until each tried joint has been read at its new angle, because readings may be late
TUCKS, HOLD = 0.8, 0.5  # [s] duration of tucking the legs after a roll, and longest time of lying after it
CALM = 0.1  # [s] upright without tipping after which the wait ends
ROLL_SPEED = 3.0  # [rad/s] of any joint in a roll, at most: manoeuvres are made at 2, and faster ones are others
# A slow attempt: factor on the times of the poses, and least time [s] of a pose to which it applies.
SLOWER, SLOW_LEAST = 2.5, 0.6
TANGLED = 0.3  # [rad] distance from STAR after all moves to it above which legs are tangled
# Largest numbers of attempts to topple, of ways to STAR after each motion to another place, of beginnings after a joint
# was blocked.
MOST_TOPPLES, MOST_WAYS, MOST_BEGINNINGS = 3, 3, 2
# [s] after which a gait that still sits, and a robot that does not stand, has failed.
LONGEST_SEAT, LONGEST_STAND = 5.0, 15.0
# A robot that swings where it lies for EASES, without rest for STEADY, lets its joints give way for YIELDS [s]; then
# again, for longer.
EASES, STEADY, YIELDS = 3.0, 0.5, 0.5
# [s] at rest before the first motion; within which the robot must come to rest; within which missing measurements must
# arrive before the first motion; at rest between two phases.
ANNOUNCE, PATIENCE, READINGS, SETTLE = 2.0, 10.0, 30.0, 0.1
FOLLOW_LIMIT, FOLLOW_TIME = (
    0.6,
    0.3,
)  # [rad], [s] a joint that is further from its set-point for longer stops the motion
FREE_FALL = 0.25  # [s] of a free fall that stops it; a body that tips over its pivots at 5 rad/s falls for 0.15 s


@dataclass
class Sensed:
    """Present measurements: joints (n,) [rad], NaN if not known; of base_link, in its own axes, the upward
    direction (3,), the angular velocity (3,) [rad/s] and the specific force (3,) [m/s^2].
    """

    joints: np.ndarray
    up: Sequence[float]
    rate: Sequence[float]
    force: Sequence[float]


def lost_legs(robot: Robot, morphology: Morphology) -> tuple[str, ...]:
    """Return the names of the legs of which a joint or most of the tibia is missing, or a joint is locked or limp."""
    return tuple(leg.name for leg in robot.legs if not _intact_joints(robot, morphology, leg).all())


def legs_damaged_only_at(robot: Robot, morphology: Morphology, joint: int) -> tuple[str, ...]:
    """Return the names of those of the `lost_legs` of which one joint alone is locked or limp, and nothing is missing;
    joint: 0 the coxa, 1 the femur, 2 the tibia.
    """
    others = np.arange(3) != joint
    return tuple(
        leg.name
        for leg in robot.legs
        if (_intact_joints(robot, morphology, leg) == others).all()
        and morphology.existing_mask[robot.leg_joints(leg.name)].all()
    )


def _intact_joints(robot: Robot, morphology: Morphology, leg: Leg) -> np.ndarray:
    """Return which joints (3,) of a leg exist and are moved by their servos, none where most of the tibia is lost."""
    if morphology.remaining(leg.name, leg.link_names[-1]) < LEAST_TIBIA:
        return np.zeros(len(leg.joints), bool)
    joints = robot.leg_joints(leg.name)
    return morphology.existing_mask[joints] & morphology.moving_mask[joints] & morphology.driven_mask[joints]


def seated(gait: Gait) -> np.ndarray:
    """Let a gait sit without a robot; return its joint angles (n,) [rad], those of standing if it cannot sit."""
    gait.reset()
    try:
        gait.sit()
    except HexapodError:
        return gait.position.copy()
    for _ in range(500):
        if gait.doing == "sitting":
            break
        gait.step(0.02)
    return gait.position.copy()


class GetUp:
    """Brings a robot from any attitude on the ground to standing; stepped at a constant rate.

        get_up = GetUp(robot, library)
        get_up.begin(gait, morphology)          # HexapodError: it cannot
        setpoints = get_up.step(dt, sensed)     # (n,) [rad], NaN where a joint is not commanded; None: command nothing

    It waits until the robot has been at rest for ANNOUNCE seconds, and ends in Phase.DONE, FAILED or STOPPED
    with a `reason` in words; after that no joint moves until the next `begin`. `gait` stands up at the end and can
    walk on from there. speed [rad/s]: of any joint; most_attempts: to turn over; attempts: those that have begun.
    """

    _gait: Gait
    _way: Iterator[np.ndarray | None]

    def __init__(
        self, robot: Robot, library: GetUpLibrary, speed: float = 2.0, dt: float = 0.02, *, most_attempts: int = 3
    ) -> None:
        require_positive({"speed": speed, "most_attempts": most_attempts})
        self.robot, self.library, self._speed, self._most_attempts = robot, library, speed, most_attempts
        self.phase, self.reason, self.attempts = Phase.IDLE, "", 0
        n = robot.joint_count
        limits = np.array([joint.planned_range for joint in robot.joints])
        self._low, self._high = limits[:, 0] + WITHIN, limits[:, 1] - WITHIN
        self._star, self._tuck, self._folded, self._over = (
            self._within(pose_angles(robot, pose, pose)) for pose in (STAR, TUCK, FOLDED, OVER)
        )
        # Joints (n,) that can be commanded; those of legs that are damaged but exist.
        self._moves, self._spare = np.ones(n, bool), np.zeros(n, bool)
        # The move of a phase, from `origin` to `goal` (n,) [rad]: NaN where a joint is not commanded. Times [s]: since
        # the phase began, of the move, of lying still after it.
        self._setpoints, self._origin, self._goal = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        self._time = self._lasts = self._hold = 0.0
        self._fastest = self._speed
        self._follow, self._yielding = FollowWatch(n, dt, FOLLOW_LIMIT), Yielding(robot, dt)
        self._rest, self._swing = RestWatch(), SwingWatch(dt)
        self._lacks = ""  # measurements that are missing now, in words
        # Joints (n,) that have moved when they were tried, and those that are not tried; their angles before [rad].
        self._answered, self._before = np.zeros(n, bool), np.zeros(n)

    def begin(self, gait: Gait, morphology: Morphology | None = None) -> None:
        """Begin with a Morphology, by default that of the intact robot, and the gait that stands up at the end.

        Raises HexapodError if it is active already, or if getting up is not possible.
        """
        if self.active:
            raise HexapodError(f"the robot gets up already: {self.phase.value}")
        morphology = morphology or Morphology.whole(self.robot)
        lost = lost_legs(self.robot, morphology)
        plan = self.library.manoeuvres(lost, *(legs_damaged_only_at(self.robot, morphology, joint) for joint in (0, 1)))
        if not plan:
            raise HexapodError(
                f"no manoeuvre turns {self.robot.name} over without {', '.join(lost) or 'any loss'}; "
                "make one with `ros2 run hexapod_dynamics plan --get-up`"
            )
        self._adopt(morphology, lost)
        # A damaged leg may block a roll that was made without it. The next attempts use the other manoeuvres, the last
        # of the plan first: of the intact robot's, that in which the side of that leg pushes.
        self._plan = plan[:1] + plan[:0:-1] if self._spare.any() else plan
        self._gait, self.reason = gait, ""
        self._rest.at_rest = self._rest.falling = 0.0
        self._yielding.begin()
        self._space = LegSpace(self.robot, morphology)
        self.attempts = self._topples = self._ways = self._beginnings = 0
        self._raises = False  # whether legs are raised before they fold, because something was in their way
        self._seats = False  # whether the legs are tucked as far as the robot sits with its gait
        self._wait_in(Phase.ANNOUNCED)

    def _adopt(self, morphology: Morphology, lost: tuple[str, ...]) -> None:
        """Adopt a Morphology; lost: names of the legs that take no part in a roll."""
        self._moves[:] = morphology.moving_mask & morphology.driven_mask
        self._spare[:] = False
        for name in lost:
            joints = self.robot.leg_joints(name)
            self._spare[joints] = morphology.existing_mask[joints].all()
        legs = self._moves.reshape(-1, 3)
        tucks = ~legs[:, :1] & legs[:, 1:].all(axis=1, keepdims=True)
        self._aside = np.where(np.repeat(tucks, 3), self._tuck, self._folded)

    def stop(self, reason: str) -> None:
        """Freeze at once; no joint moves until the next `begin`."""
        if self.active:
            self._end(Phase.STOPPED, reason)

    def lack(self, what: str) -> None:
        """Note missing measurements, in words: before the first motion the robot waits for them, later they end
        the attempt.
        """
        if self.phase is Phase.ANNOUNCED:
            self._lacks, self._rest.at_rest = what, 0.0
        else:
            self.stop(what)

    @property
    def active(self) -> bool:
        """Whether it is active."""
        return self.phase not in ENDED

    @property
    def doing(self) -> str:
        """The present action, in words."""
        if self.phase is Phase.ROLL:
            return f"{self.phase.value}, pose {self._pose + 1} of {len(self._poses)}, attempt {self.attempts}"
        return f"{self.phase.value}: {self.reason}" if self.reason else self.phase.value

    # ---- every tick --------------------------------------------------------------------------------------------------

    def step(self, dt: float, sensed: Sensed) -> np.ndarray | None:
        """Advance by dt [s]; return the set-points (n,) [rad] to command, NaN for joints without one; None:
        command nothing.
        """
        self._rest.update(dt, sensed.rate, sensed.force, sensed.up)
        self._swing.update(sensed.rate)
        if not self.active:
            return None
        self._time += dt
        if self.phase in WAITS:
            self._wait(dt, sensed)
            holds = self.phase is Phase.ANNOUNCED and not self._eased  # as before it was asked
            sends = self.active and not holds
        else:
            self._follow.update(dt, self._setpoints, sensed.joints, self._yielding.moved)
            if not self._is_obstructed(sensed):
                self._go_on(dt, sensed)
            sends = self.active or self.phase is Phase.DONE
        return self._yielding.follow(dt, self._setpoints, sensed.joints, self._fastest) if sends else None

    def _go_on(self, dt: float, sensed: Sensed) -> None:
        """Go on with the present move, or begin the next one where it has ended."""
        if self.phase is Phase.STAND:
            self._stand(dt, sensed)
            return
        if self.phase is Phase.TUCK and not self._seats and sensed.up[2] > UPRIGHT:
            self._tuck_legs(0.0, self._hold, sensed)
        share = min(1.0, self._time / self._lasts) if self._lasts > 0.0 else 1.0
        self._setpoints[:] = self._origin + share * (self._goal - self._origin)
        over = self._time - self._lasts >= self._hold - 1e-9
        if over or (self._time >= self._lasts and self._is_ready(sensed)):
            self._next(sensed)

    def _is_ready(self, sensed: Sensed) -> bool:
        """Return whether the condition for which a phase waits at its end is met already."""
        if self.phase is Phase.PROBE:
            return self._all_have_moved(sensed)
        return self.phase is Phase.TUCK and sensed.up[2] > UPRIGHT and self._rest.calm >= CALM

    def _next(self, sensed: Sensed) -> None:
        """Decide what follows the phase that has ended."""
        if self.phase in ANNOUNCES:
            self._begin_probe(sensed)
        elif self.phase is Phase.PROBE:
            self._go_on_probing(sensed)
        elif self.phase is Phase.STAR:
            self._go_on_spreading()
        elif self.phase is Phase.LIES:
            if not self._is_tangled(sensed):
                self._turn_over(sensed)
        elif self.phase is Phase.ROLL and self._pose + 1 < len(self._poses):
            self._pose += 1
            self._roll()
        elif self.phase in (Phase.ROLL, Phase.RAISE):
            self._tuck_legs(TUCKS, HOLD, sensed)
        elif self.phase is Phase.TUCK and self._seats and sensed.up[2] > UPRIGHT:
            self._begin_standing()
        else:
            self._spread()

    # ---- phases and moves --------------------------------------------------------------------------------------------

    def _enter(self, phase: Phase) -> None:
        """Begin a phase without a move."""
        self.phase, self._time = phase, 0.0

    def _end(self, phase: Phase, reason: str) -> None:
        """End with a reason, in words."""
        self._enter(phase)
        self.reason = reason

    def _move(
        self, phase: Phase, target: np.ndarray, least: float, hold: float = 0.0, most: float = float("inf")
    ) -> None:
        """Begin a phase that moves all joints uniformly to target (n,) [rad], in `least` [s] or longer, none faster
        than `most` [rad/s], then holds for `hold` [s].
        """
        self._enter(phase)
        self._origin[:] = self._setpoints
        self._goal[:] = np.where(self._moves, self._within(target), np.nan)
        way = np.fmax.reduce(np.abs(self._goal - self._origin), initial=0.0)
        self._fastest = min(self._speed, most)
        self._lasts, self._hold = max(least, way / self._fastest), hold

    def _within(self, angles: np.ndarray) -> np.ndarray:
        """Return joint angles (n,) [rad] bounded by the joint limits."""
        return np.clip(angles, self._low, self._high)

    def _rest_at(self, readings: np.ndarray) -> None:
        """Set the set-points to where the joints are read (n,) [rad], so that no servo pushes."""
        self._setpoints[:] = np.where(self._moves, readings, np.nan)

    def _begin_at(self, readings: np.ndarray) -> None:
        """Do as `_rest_at`, and forget the set-points of before: what follows is compared with new ones only."""
        self._rest_at(readings)
        self._follow.start(self._setpoints)

    def _names(self, joints: np.ndarray) -> str:
        """Return the names of the joints of a mask (n,), with commas."""
        return ", ".join(name for name, one in zip(self.robot.joint_names, joints, strict=True) if one)

    # ---- waiting for rest --------------------------------------------------------------------------------------------

    def _wait_in(self, phase: Phase) -> None:
        """Begin a phase that waits; eased: how often the joints have given way in it."""
        self._enter(phase)
        self._waited = self._lacked = self._yields = 0.0
        self._eased = 0

    def _wait(self, dt: float, sensed: Sensed) -> None:
        """Wait for dt [s]; go on when the robot has rested, fail if it does not come to rest."""
        lacks, self._lacks = self._lacks or self._unread(sensed), ""
        if lacks and self.phase is Phase.ANNOUNCED:
            self._lacked += dt
            if self._lacked > READINGS:
                self._end(Phase.FAILED, lacks)
            return
        self._waited += dt
        needed = ANNOUNCE if self.phase in ANNOUNCES else SETTLE
        if self._rest.at_rest >= needed:
            self._next(sensed)
            return
        if self._waited > PATIENCE + needed:
            self._end(Phase.FAILED, "the robot does not come to rest: it is being carried, held or shaken")
            return
        if self._waited >= EASES * (self._eased + 1) and self._swings():
            self._eased += 1
            self._yields = YIELDS * self._eased
            if self.phase is Phase.ANNOUNCED:
                self.reason = "it swings where it lies, the joints give way"
        if self._yields > 0.0:
            self._yields -= dt
            self._rest_at(sensed.joints)

    def _unread(self, sensed: Sensed) -> str:
        """Return the joints that have not been read, in words; empty if there are none."""
        unknown = self._moves & ~np.isfinite(sensed.joints)
        if not unknown.any():
            return ""
        return f"{self._names(unknown)}: no reading; declare what is lost (set_morphology), then ask again"

    def _swings(self) -> bool:
        """Return whether the robot swings where it lies, by itself, and does not come to rest."""
        return self._rest.at_rest < STEADY and self._rest.in_place >= EASES and self._swing.repeats()

    # ---- what is in the way ------------------------------------------------------------------------------------------

    def _is_obstructed(self, sensed: Sensed) -> bool:
        """Return whether something is in the way, and do what helps: the tick has ended, or getting up has."""
        if self._rest.falling > FREE_FALL:
            self._end(Phase.STOPPED, "free fall: the robot was lifted or dropped")
            return True
        late = self._follow.off_for > FOLLOW_TIME
        if not late.any():
            return False
        if self.phase is Phase.STAR and self._may_try_a_way:  # another leg may have moved since it was measured
            self._begin_at(sensed.joints)
            self._spread()
            return False
        if self.phase in ROLLS_OR_RISES and not (late & ~self._spare).any():
            for angles in (self._origin, self._goal, self._setpoints):
                angles[late] = sensed.joints[late]  # blocked joints of a damaged leg keep their angles
            return False
        j = int(np.argmax(self._follow.off_for))
        off = f"{self._follow.error[j]:.2f} rad off: blocked or held"
        reason = f"{self.robot.joint_names[j]} does not follow, it is {off}"
        if self._beginnings >= MOST_BEGINNINGS:
            self._end(Phase.STOPPED, reason)
            return True
        self._beginnings += 1
        self._raises = True
        self._rest_at(sensed.joints)
        self._wait_in(Phase.BLOCKED)
        self.reason, self._rest.at_rest = reason, 0.0
        return True

    # ---- from rest to STAR -------------------------------------------------------------------------------------------

    def _begin_probe(self, sensed: Sensed) -> None:
        """Test whether each joint moves after a small command, before any larger motion: one that is held does not."""
        self._begin_at(sensed.joints)
        self._before[:], self._answered[:] = sensed.joints, ~self._moves
        self._tries, self.reason = 0, ""
        self._nudge()

    def _nudge(self) -> None:
        """Move the joints that have not answered by NUDGE towards STAR, then away from it.

        After these tries, of a robot that stands, the femur of each leg whose joints have not all answered is raised.
        """
        way = np.where(self._star >= self._before, NUDGE, -NUDGE)
        target = self._before + np.where(self._answered, 0.0, way if self._tries == 0 else -way)
        if self._tries >= TRIES:
            stands = ~self._answered.reshape(-1, 3).all(axis=1)
            target[1::3][stands] = self._before[1::3][stands] + LIFT
        self._tries += 1
        self._move(Phase.PROBE, target, 0.25, hold=PROBE_HOLD)

    def _all_have_moved(self, sensed: Sensed) -> bool:
        """Note which of the tried joints have moved; return whether all have."""
        self._answered |= np.abs(sensed.joints - self._before) > ANSWER * NUDGE
        return bool(self._answered.all())

    def _go_on_probing(self, sensed: Sensed) -> None:
        stands = sensed.up[2] > FLAT  # on its feet, maybe: the ground can hold a joint by friction
        if self._all_have_moved(sensed):
            self._spread()
        elif self._tries < TRIES + stands:
            self._nudge()
        else:
            held = self._names(~self._answered)
            self._end(Phase.STOPPED, f"{held}: does not move; somebody or something holds it, or it is broken")

    def _spread(self) -> None:
        """Begin to search a way of all legs to STAR, one try a tick."""
        self._ways += 1
        here = np.nan_to_num(np.where(self._moves, self._setpoints, self._before))  # a missing leg may have any angles
        self._way = untangled(self._space, here, np.where(self._moves, self._star, np.nan))
        self._move(Phase.STAR, self._setpoints, 0.0)

    def _go_on_spreading(self) -> None:
        """Begin the next move of the way, or wait for it; without one the legs are spread."""
        for target in self._way:
            if target is not None:
                self._move(Phase.STAR, target, 0.3)
            return
        self._wait_in(Phase.LIES)

    @property
    def _may_try_a_way(self) -> bool:
        return self._ways < MOST_WAYS + self.attempts + self._topples

    def _is_tangled(self, sensed: Sensed) -> bool:
        """Return whether joints have not reached STAR; then it tries another way, continues or gives up."""
        off = self._moves & (np.abs(sensed.joints - self._star) > TANGLED)
        if not off.any():
            return False
        if self._time < MEMORY:
            return True  # the last reading may be older than the last motion
        if sensed.up[2] > FLAT and self._ways > 1:
            return False  # it lies on its belly, and the ground blocks a leg: this is no reason to give up
        if self._may_try_a_way:
            self._rest_at(sensed.joints)
            self._spread()
        else:
            self._end(Phase.FAILED, f"{self._names(off)}: no way to spread the legs was found")
        return True

    # ---- from STAR to standing ---------------------------------------------------------------------------------------

    def _turn_over(self, sensed: Sensed) -> None:
        up = float(sensed.up[2])
        if up > FLAT and self._raises:
            self._raise(sensed)
        elif up > FLAT:
            self._tuck_legs(0.5, 0.2, sensed)
        elif abs(up) < EDGE and self._topples < MOST_TOPPLES:
            self._topples += 1
            self._move(Phase.TOPPLE, self._over, 0.3, hold=0.3)
        elif self.attempts >= self._most_attempts:
            self._end(Phase.FAILED, f"{self.attempts} attempts have not turned the robot over")
        else:
            self._begin_attempt()

    def _begin_attempt(self) -> None:
        """Begin the next manoeuvre. The first one is repeated slowly, because a repetition at the same speed would fail
        in the same way; with a damaged leg, each is made once.
        """
        damaged = bool(self._spare.any())
        self._slow = self.attempts == 1 and not damaged
        choice = self.attempts if damaged else max(0, self.attempts - 1)
        manoeuvre = self._plan[choice % len(self._plan)]
        self._poses, self._times = joint_poses(self.robot, manoeuvre, self._aside), manoeuvre.times
        self.attempts += 1
        self._pose = 0
        self._roll()

    def _roll(self) -> None:
        """Move to the present pose of the manoeuvre."""
        least = self._times[self._pose]
        least = SLOWER * max(least, SLOW_LEAST) if self._slow else least
        self._move(Phase.ROLL, self._poses[self._pose], least, most=ROLL_SPEED)

    def _raise(self, sensed: Sensed) -> None:
        """Begin to raise all legs in their present poses, because an object beside the body could block a tibia
        that folds.
        """
        self._begin_at(sensed.joints)
        target = self._setpoints.copy()
        target[1::3] = self._tuck[1::3]
        self._move(Phase.RAISE, target, 0.5)

    def _tuck_legs(self, least: float, hold: float, sensed: Sensed) -> None:
        """Begin to tuck the legs; where the robot is upright already, only as far as it sits with its gait."""
        target, self._seats = self._tuck.copy(), sensed.up[2] > UPRIGHT
        if self._seats:
            seat, works = self._within(seated(self._gait)), self._moves & ~self._spare
            bends = np.arange(len(seat)) % 3 > 0  # femurs and tibias
            folds = np.clip(seat, np.minimum(self._star, self._tuck), np.maximum(self._star, self._tuck))
            target[works] = np.where(bends, folds, seat)[works]
        self._move(Phase.TUCK, target, least, hold)

    def _begin_standing(self) -> None:
        """Let the gait stand up; where it cannot, for example on too few legs, getting up ends with the reason."""
        try:
            self._gait.stand()
        except HexapodError as error:
            self._end(Phase.FAILED, f"the robot is upright, but it {error}")
            return
        self._enter(Phase.STAND)

    def _stand(self, dt: float, sensed: Sensed) -> None:
        """Follow the gait for dt [s]; it has ended when the gait stands and the robot is at rest, upright."""
        most, gait = self._speed * dt, self._gait
        left = gait.step(dt)[0] - self._setpoints
        self._setpoints += np.clip(left, -most, most)
        if gait.doing == "sitting" and self._time > LONGEST_SEAT:
            self._end(Phase.FAILED, "the gait does not stand up")
        arrived = gait.doing == "standing" and not np.fmax.reduce(np.abs(left[~self._spare]), initial=0.0) > most
        if not arrived or self._rest.at_rest < SETTLE:
            if self._time > LONGEST_STAND:
                self._end(Phase.FAILED, "the robot does not come to stand")
        elif sensed.up[2] > UPRIGHT:
            self._end(Phase.DONE, "")
        else:
            self._end(Phase.FAILED, "the robot tipped over while it stood up")
