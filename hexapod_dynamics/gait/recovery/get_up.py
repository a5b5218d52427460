"""Gets up again: from any attitude on the ground to standing on the legs that are left, as one state machine.

Measurements decide at the end of each `Phase` which one follows. ANNOUNCED, BLOCKED and LIES wait for rest; BLOCKED
follows a joint that does not follow, LIES a way of all legs to STAR (untangle.py). In IDLE, DONE, STOPPED and FAILED no
joint is commanded.

    ANNOUNCED -> PROBE -> STAR -> LIES -> ROLL -> TUCK -> STAND -> DONE
                   ^       ^ ^      |-> TOPPLE -> STAR |
                BLOCKED    | `------'                  |
                           `---------------------------'

In STAR a robot lies flat on its belly or on its back, from any attitude. A leg that is damaged but exists takes no part
at first, except where only its coxa is damaged, or of a middle leg only its femur; its blocked joints keep their
angles. A joint that pushes in vain with all its torque gives way (motion.Yielding). A free fall ends the motion. A
robot that swings where it lies, by itself, lets its joints give way until it rests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np

from hexapod_dynamics.errors import HexapodError, require_positive
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary, find_damage, joint_poses, pose_angles
from hexapod_dynamics.gait.recovery.motion import EASING_DELAY, MEMORY, JointMotion, Measured, RestWatch, find_seat
from hexapod_dynamics.gait.recovery.untangle import LegSpace, plan_moves
from hexapod_dynamics.robot import Morphology, Robot


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


ANNOUNCING_PHASES = (Phase.ANNOUNCED, Phase.BLOCKED)  # phases that announce a motion
WAITING_PHASES = (*ANNOUNCING_PHASES, Phase.LIES)  # phases that wait for rest, without motion

UPRIGHT, FLAT = 0.9, 0.85  # upward component of the body's z axis of a robot that is upright, that lies flat
# Coxa, femur, tibia [rad] of each leg: straight out, the robot lies flat on its belly or on its back, from any
# attitude; tucked, the robot stands up.
STAR, TUCK = (0.0, 0.0, 1.17), (0.0, 1.6, -1.0)
TUCKS, HOLD = 0.8, 0.5  # [s] duration of tucking the legs after a roll, and longest time of lying after it
ROLL_SPEED = 3.0  # [rad/s] of any joint in a roll, at most: manoeuvres are made at 2, and faster ones are others
# A robot that swings where it lies for EASES [s] lets its joints give way for YIELDS [s]; then again, for longer.
YIELDS = 0.5
ANNOUNCE, SETTLE = 2.0, 0.1  # [s] at rest before the first motion; between two phases


class _EndError(Exception):
    """Getting up ends: a Phase, and the reason in words."""


class GetUp:
    """Brings a robot from any attitude on the ground to standing; stepped at a constant rate.

        get_up = GetUp(robot, library)
        get_up.begin(gait, morphology)          # HexapodError: it cannot
        setpoints = get_up.step(dt, sensed)     # (n,) [rad], NaN where a joint is not commanded; None: command nothing

    It waits until the robot has been at rest for ANNOUNCE seconds, and ends in Phase.DONE, FAILED or STOPPED
    with a `reason` in words; after that no joint moves until the next `begin`. `gait` stands up at the end and can
    walk on from there. speed [rad/s]: of any joint; most_attempts: to turn over; attempts: those that have begun.

    The phases are written as one course, `_course`: each `yield` ends a tick.
    """

    _gait: Gait
    _present: Iterator[None]  # where the course is
    _dt: float  # [s] of the present tick
    _sensed: Measured  # in the present tick

    def __init__(
        self, robot: Robot, library: GetUpLibrary, speed: float = 2.0, dt: float = 0.02, *, most_attempts: int = 3
    ) -> None:
        require_positive({"speed": speed, "dt": dt, "most_attempts": most_attempts})
        self.robot, self.library, self._speed, self._most_attempts = robot, library, speed, most_attempts
        self.phase, self.reason, self.attempts = Phase.IDLE, "", 0
        self._motion, self._rest = JointMotion(robot, speed, dt), RestWatch(dt, robot.gravity)
        # Folded, below the body: a leg that takes no part in a roll. Over: all legs below the body, onto which a robot
        # topples that stands on its edge.
        self._star, self._tuck, self._folded, self._over = (
            self._motion.clamp(pose_angles(robot, pose, pose))
            for pose in (STAR, TUCK, (0.0, -1.6, -1.2), (0.0, -1.6, 0.0))
        )
        self._lacks = ""  # measurements that are missing now, in words

    def begin(self, gait: Gait, morphology: Morphology | None = None) -> None:
        """Begin with a Morphology, by default that of the intact robot, and the gait that stands up at the end.

        Raises HexapodError if it is active already, or if getting up is not possible.
        """
        if self.active:
            raise HexapodError(f"the robot gets up already: {self.phase.value}")
        morphology = morphology or Morphology.whole(self.robot)
        lost = find_damage(self.robot, morphology)
        plan = self.library.choose(lost)
        if not plan:
            raise HexapodError(
                f"no manoeuvre turns {self.robot.name} over without {', '.join(lost) or 'any loss'}; "
                "make one with `ros2 run hexapod_dynamics plan --get-up`"
            )
        moves = self._motion.moves
        moves[:] = morphology.moving_mask & morphology.driven_mask
        self._spare = np.zeros(len(moves), bool)  # joints of legs that are damaged but exist
        for name in lost:
            joints = self.robot.leg_joints(name)
            self._spare[joints] = morphology.existing_mask[joints].all()
        legs = moves.reshape(-1, 3)
        tucks = ~legs[:, :1] & legs[:, 1:].all(axis=1, keepdims=True)
        self._aside = np.where(np.repeat(tucks, 3), self._tuck, self._folded)
        # A damaged leg may block a roll that was made without it. The next attempts use the other manoeuvres, the last
        # of the plan first: of the intact robot's, that in which the side of that leg pushes.
        self._plan = plan[:1] + plan[:0:-1] if self._spare.any() else plan
        self._gait, self.reason = gait, ""
        self._rest.at_rest = self._rest.falling = 0.0
        self._motion.yielding.begin()
        self._space = LegSpace(self.robot, morphology)
        self.attempts = self._topples = self._ways = self._beginnings = 0
        self._raises = False  # whether legs are raised before they fold, because something was in their way
        self._begin_course(self._course(Phase.ANNOUNCED))

    def stop(self, reason: str) -> None:
        """Freeze at once; no joint moves until the next `begin`."""
        if self.active:
            self.phase, self.reason = Phase.STOPPED, reason

    def note_missing(self, what: str) -> None:
        """Note missing measurements, in words: before the first motion it waits for them, later they end it."""
        if self.phase is Phase.ANNOUNCED:
            self._lacks, self._rest.at_rest = what, 0.0
        else:
            self.stop(what)

    @property
    def active(self) -> bool:
        """Whether it is active."""
        return self.phase not in (Phase.IDLE, Phase.DONE, Phase.STOPPED, Phase.FAILED)

    @property
    def doing(self) -> str:
        """The present action, in words."""
        if self.phase is Phase.ROLL:
            return f"{self.phase.value}, pose {self._pose + 1} of {len(self._poses)}, attempt {self.attempts}"
        return f"{self.phase.value}: {self.reason}" if self.reason else self.phase.value

    # ---- every tick --------------------------------------------------------------------------------------------------

    def step(self, dt: float, sensed: Measured) -> np.ndarray | None:
        """Advance by dt [s]; return set-points (n,) [rad], NaN for joints without one; None: command nothing."""
        self._rest.update(dt, sensed.rate, sensed.force, sensed.up)
        if not self.active:
            return None
        self._dt, self._sensed, waits = dt, sensed, self.phase in WAITING_PHASES
        self._motion.sense(dt, sensed.joints, moving=not waits)
        try:
            if waits or not self._is_obstructed():
                next(self._present)
        except _EndError as end:
            self.phase, self.reason = end.args
        holds = self.phase is Phase.ANNOUNCED and not self._eased  # as before it was asked
        return self._motion.send(dt) if not holds and (self.active or self.phase is Phase.DONE) else None

    def _begin_course(self, course: Iterator[None]) -> None:
        """Begin a course; its first tick is the next one."""
        self._present = course
        next(course)

    def _course(self, phase: Phase) -> Iterator[None]:
        """From ANNOUNCED, or from BLOCKED, to standing."""
        yield from self._wait(phase)
        yield from self._probe()
        yield from self._rise()

    def _rise(self) -> Iterator[None]:
        """From STAR to standing."""
        while True:
            yield from self._spread()
            # Until legs lie in STAR, or the last readings are of after the last motion.
            yield from self._wait(Phase.LIES, lambda: self._motion.time >= MEMORY or not self._find_off_star().any())
            up = float(self._sensed.up[2])
            if self._is_tangled():
                self._motion.rest_at_readings()
            elif up > FLAT and not self._raises:
                yield from self._tuck_legs(0.5, 0.2)
            elif abs(up) < 0.6 and self._topples < 3:  # it stands on an edge
                self._topples += 1
                self.phase = Phase.TOPPLE
                yield from self._motion.move(self._over, 0.3, hold=0.3)
            else:
                yield from self._raise() if up > FLAT else self._turn_over()
                yield from self._tuck_legs(TUCKS, HOLD)
            if self.phase is Phase.TUCK and self._seats and self._sensed.up[2] > UPRIGHT:
                yield from self._stand()

    # ---- phases ------------------------------------------------------------------------------------------------------

    def _wait(self, phase: Phase, may_go_on: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Wait in a phase until the robot has rested; it fails if the robot does not come to rest."""
        self.phase, self._motion.time = phase, 0.0
        self._eased = 0  # how often the joints have given way
        waited = lacked = yields = 0.0
        needed = ANNOUNCE if phase in ANNOUNCING_PHASES else SETTLE
        while True:
            yield
            lacks, self._lacks = self._lacks, ""
            unread = self._motion.list_names(self._motion.moves & ~np.isfinite(self._sensed.joints))
            if unread and not lacks:
                lacks = f"{unread}: no reading; declare what is lost (set_morphology), then ask again"
            if lacks and phase is Phase.ANNOUNCED:
                lacked += self._dt
                if lacked > 30.0:
                    raise _EndError(Phase.FAILED, lacks)
                continue
            waited += self._dt
            if self._rest.at_rest >= needed and may_go_on():
                return
            if waited > 10.0 + needed:
                raise _EndError(Phase.FAILED, "the robot does not come to rest: it is being carried, held or shaken")
            if waited >= EASING_DELAY * (self._eased + 1) and self._rest.is_swinging():
                self._eased += 1
                yields = YIELDS * self._eased
                if phase is Phase.ANNOUNCED:
                    self.reason = "it swings where it lies, the joints give way"
            if yields > 0.0:
                yields -= self._dt
                self._motion.rest_at_readings()

    def _probe(self) -> Iterator[None]:
        """Test whether each joint moves after a small command, before any larger motion."""
        self.phase, self.reason, self._before = Phase.PROBE, "", self._sensed.joints.copy()
        # A robot that is upright is on its feet, maybe: the ground can hold a joint by friction.
        held = yield from self._motion.probe(self._star, lambda: self._sensed.up[2] > FLAT)
        if held.any():
            names = self._motion.list_names(held)
            raise _EndError(Phase.STOPPED, f"{names}: does not move; somebody or something holds it, or it is broken")

    def _spread(self) -> Iterator[None]:
        """Move all legs to STAR on ways on which they do not touch, of which one is tried in each tick."""
        self.phase, motion = Phase.STAR, self._motion
        self._ways += 1
        here = np.nan_to_num(np.where(motion.moves, motion.setpoints, self._before))  # a missing leg may have any
        way = plan_moves(self._space, here, np.where(motion.moves, self._star, np.nan))
        yield from motion.move(motion.setpoints, 0.0)
        for target in way:
            if target is None:
                yield
            else:
                yield from motion.move(target, 0.3)

    def _turn_over(self) -> Iterator[None]:
        """Make the next manoeuvre. The first one is repeated slowly, because a repetition at the same speed would fail
        in the same way; with a damaged leg, each is made once.
        """
        if self.attempts >= self._most_attempts:
            raise _EndError(Phase.FAILED, f"{self.attempts} attempts have not turned the robot over")
        damaged = bool(self._spare.any())
        slow = self.attempts == 1 and not damaged
        choice = self.attempts if damaged else max(0, self.attempts - 1)
        manoeuvre = self._plan[choice % len(self._plan)]
        self._poses = joint_poses(self.robot, manoeuvre, self._aside)
        self.phase = Phase.ROLL
        self.attempts += 1
        for self._pose, least in enumerate(manoeuvre.times):
            lasts = 2.5 * max(least, 0.6) if slow else least  # [s]
            yield from self._motion.move(self._poses[self._pose], lasts, most=ROLL_SPEED)

    def _raise(self) -> Iterator[None]:
        """Raise all legs in their present poses, because an object beside the body could block a tibia that folds."""
        self.phase, motion = Phase.RAISE, self._motion
        motion.begin_at_readings()
        target = motion.setpoints.copy()
        target[1::3] = self._tuck[1::3]
        yield from motion.move(target, 0.5)

    def _tuck_legs(self, least: float, hold: float) -> Iterator[None]:
        """Tuck the legs; as soon as the robot is upright, only as far as it sits with its gait."""
        self.phase = Phase.TUCK
        self._begin_tuck(least, hold)
        while True:
            yield
            if not self._seats and self._sensed.up[2] > UPRIGHT:
                self._begin_tuck(0.0, hold)
            if self._motion.advance(lambda: self._sensed.up[2] > UPRIGHT and self._rest.calm >= 0.1):
                return

    def _begin_tuck(self, least: float, hold: float) -> None:
        target, self._seats = self._tuck.copy(), self._sensed.up[2] > UPRIGHT
        if self._seats:
            seat, works = self._motion.clamp(find_seat(self._gait)), self._motion.moves & ~self._spare
            bends = np.arange(len(seat)) % 3 > 0  # femurs and tibias
            folds = np.clip(seat, np.minimum(self._star, self._tuck), np.maximum(self._star, self._tuck))
            target[works] = np.where(bends, folds, seat)[works]
        self._motion.begin(target, least, hold)

    def _stand(self) -> Iterator[None]:
        """Follow the gait, which stands up, until the robot is at rest, upright.

        Where the gait cannot stand up, for example on too few legs, getting up ends with the reason.
        """
        gait, motion = self._gait, self._motion
        try:
            gait.stand()
        except HexapodError as error:
            raise _EndError(Phase.FAILED, f"the robot is upright, but it {error}") from None
        self.phase, motion.time = Phase.STAND, 0.0
        while True:
            yield
            most = self._speed * self._dt
            left = gait.step(self._dt)[0] - motion.setpoints
            motion.setpoints += np.clip(left, -most, most)
            if gait.doing == "sitting" and motion.time > 5.0:
                raise _EndError(Phase.FAILED, "the gait does not stand up")
            arrived = gait.doing == "standing" and not np.fmax.reduce(np.abs(left[~self._spare]), initial=0.0) > most
            if arrived and self._rest.at_rest >= SETTLE:
                break
            if motion.time > 15.0:
                raise _EndError(Phase.FAILED, "the robot does not come to stand")
        if self._sensed.up[2] > UPRIGHT:
            raise _EndError(Phase.DONE, "")
        raise _EndError(Phase.FAILED, "the robot tipped over while it stood up")

    # ---- what is in the way ------------------------------------------------------------------------------------------

    def _is_obstructed(self) -> bool:
        """Return whether something is in the way and the tick has ended with what helps."""
        if self._rest.falling > 0.25:  # [s]; a body that tips over its pivots at 5 rad/s falls for 0.15 s
            raise _EndError(Phase.STOPPED, "free fall: the robot was lifted or dropped")
        motion, joints = self._motion, self._sensed.joints
        late = motion.follow.off_for > 0.3
        if not late.any():
            return False
        if self.phase is Phase.STAR and self._may_try_a_way:  # another leg may have moved since it was measured
            motion.begin_at_readings()
            self._begin_course(self._rise())
            return False
        rolls_or_rises = self.phase in (Phase.ROLL, Phase.RAISE, Phase.TUCK, Phase.STAND)
        if rolls_or_rises and not (late & ~self._spare).any():
            for angles in (motion.origin, motion.goal, motion.setpoints):
                angles[late] = joints[late]  # blocked joints of a damaged leg keep their angles
            return False
        j = int(np.argmax(motion.follow.off_for))
        off = f"{motion.follow.error[j]:.2f} rad off: blocked or held"
        reason = f"{self.robot.joint_names[j]} does not follow, it is {off}"
        if self._beginnings >= 2:
            raise _EndError(Phase.STOPPED, reason)
        self._beginnings += 1
        self._raises = True
        motion.rest_at_readings()
        self._begin_course(self._course(Phase.BLOCKED))
        self.reason, self._rest.at_rest = reason, 0.0
        return True

    @property
    def _may_try_a_way(self) -> bool:
        """Whether another way to STAR may be tried: three after each motion to another place."""
        return self._ways < 3 + self.attempts + self._topples

    def _find_off_star(self) -> np.ndarray:
        """Return the joints (n,) that are far from STAR."""
        return self._motion.moves & (np.abs(self._sensed.joints - self._star) > 0.3)

    def _is_tangled(self) -> bool:
        """Return whether joints have not reached STAR, and another way is to be tried; FAILED if there is none left."""
        off = self._find_off_star()
        if not off.any() or (self._sensed.up[2] > FLAT and self._ways > 1):
            return False  # on its belly, the ground blocks a leg: this is no reason to give up
        if not self._may_try_a_way:
            raise _EndError(Phase.FAILED, f"{self._motion.list_names(off)}: no way to spread the legs was found")
        return True
