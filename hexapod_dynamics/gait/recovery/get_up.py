"""Gets up again: from any attitude on the ground to standing on the legs that are left, as one state machine.

The modes are `poses.Phase`; measurements decide at the end of each which one follows:

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
angles. A joint that pushes in vain with all its torque gives way (motion.Yielding). A free fall ends the motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary, Manoeuvre, joint_poses
from hexapod_dynamics.gait.recovery.motion import Motion, Yielding
from hexapod_dynamics.gait.recovery.poses import (
    ANNOUNCES,
    ENDED,
    ROLLS_OR_RISES,
    UPRIGHT,
    WAITS,
    GetUpSettings,
    Phase,
    Sensed,
    legs_damaged_only_at,
    lost_legs,
    seated,
)
from hexapod_dynamics.gait.recovery.untangle import Spreading
from hexapod_dynamics.gait.recovery.waiting import TRIES, JointProbe, RestWatch, Wait, Waiting
from hexapod_dynamics.robot import Morphology, Robot

# For a slow attempt: factor on the times of the poses, and least time [s] of a pose to which it applies.
SLOWER, SLOW_LEAST = 2.5, 0.6


class Attempts:
    """Attempts to turn a robot over; count: of those begun; pose: the present one of the manoeuvre's `poses`."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._plan: list[Manoeuvre] = []
        self._damaged = self._slow = False
        self.poses = np.zeros((0, robot.joint_count))  # (poses, n) [rad]
        self._times: tuple[float, ...] = ()
        self.count = self.pose = 0

    def begin(self, plan: Sequence[Manoeuvre], damaged: bool) -> None:
        """Begin with these manoeuvres, the best first; damaged: whether a leg exists that takes no part.

        Such a leg may block a roll that was made without it. The next attempts use the other manoeuvres, the last of
        the plan first: of the intact robot's, that in which the side of that leg pushes.
        """
        plan = list(plan)
        self._plan, self._damaged = plan[:1] + plan[:0:-1] if damaged else plan, damaged
        self.count = 0

    def next(self, aside: np.ndarray) -> None:
        """Begin the next attempt; aside (n,) [rad]: angles of the legs that take no part.

        The first manoeuvre is repeated slowly, because a repetition at the same speed would fail in the same way.
        """
        self._slow = self.count == 1 and not self._damaged
        choice = self.count if self._damaged else max(0, self.count - 1)
        manoeuvre = self._plan[choice % len(self._plan)]
        self.count += 1
        self.poses, self._times = joint_poses(self._robot, manoeuvre, aside), manoeuvre.times
        self.pose = 0

    @property
    def least_time(self) -> float:
        """Least time [s] of the present pose."""
        least = self._times[self.pose]
        return SLOWER * max(least, SLOW_LEAST) if self._slow else least

    def go_on(self) -> bool:
        """Go on to the next pose; False: that was the last one."""
        if self.pose + 1 >= len(self.poses):
            return False
        self.pose += 1
        return True


LONGEST_SEAT, LONGEST_STAND = (
    5.0,
    15.0,
)  # [s] after which a gait that still sits, and a robot that does not stand, has failed


def begin_standing(motion: Motion, gait: Gait) -> None:
    """Let the gait stand up; where it cannot, for example on too few legs, getting up ends with the reason."""
    try:
        gait.stand()
    except HexapodError as error:
        motion.end(Phase.FAILED, f"the robot is upright, but it {error}")
        return
    motion.enter(Phase.STAND)


def step_standing(motion: Motion, gait: Gait, rest: RestWatch, dt: float, sensed: Sensed) -> None:
    """Follow the gait for dt [s]; it has ended when the gait stands and the robot is at rest, upright."""
    most = motion.settings.speed * dt
    left = gait.step(dt)[0] - motion.setpoints
    motion.setpoints += np.clip(left, -most, most)
    if gait.doing == "sitting" and motion.time > LONGEST_SEAT:
        motion.end(Phase.FAILED, "the gait does not stand up")
    arrived = gait.doing == "standing" and not np.fmax.reduce(np.abs(left[~motion.spare]), initial=0.0) > most
    if not arrived or rest.at_rest < motion.settings.settle:
        if motion.time > LONGEST_STAND:
            motion.end(Phase.FAILED, "the robot does not come to stand")
    elif sensed.up[2] > UPRIGHT:
        motion.end(Phase.DONE, "")
    else:
        motion.end(Phase.FAILED, "the robot tipped over while it stood up")


PROBE_HOLD = 1.0  # [s] longest wait until each tried joint has been read at its new angle, because readings may be late
TUCKS, HOLD = 0.8, 0.5  # [s] duration of tucking the legs after a roll, and longest time of lying after it
CALM = 0.1  # [s] upright without tipping after which the wait ends
FLAT = 0.85  # upward component of the body's z axis of a body that lies flat
# size of this component below which the robot stands on an edge; number of attempts to topple
EDGE, MOST_TOPPLES = 0.6, 3
ROLL_SPEED = 3.0  # [rad/s] of any joint in a roll, at most: manoeuvres are made at 2, and faster ones are others


class Phases:
    """Begins each phase of getting up; raises: whether legs are raised before they are folded, because something was
    in their way.
    """

    def __init__(self, motion: Motion, waiting: Waiting) -> None:
        self._motion, self._waiting, self._poses = motion, waiting, motion.poses
        self._probe = JointProbe(len(motion.moves))
        self.spreading = Spreading(motion)
        self.attempts = Attempts(motion.robot)
        self._topples = 0
        self._seats = False  # the legs are tucked as far as the robot sits with its gait
        self.raises = False
        self.gait: Gait | None = None

    def begin(self, gait: Gait, plan: Sequence[Manoeuvre], morphology: Morphology) -> None:
        """Begin with the manoeuvres to try, the best first, and the gait that stands up at the end."""
        self.gait, self.raises, self._topples = gait, False, 0
        self.attempts.begin(plan, damaged=bool(self._motion.spare.any()))
        self.spreading.adopt(morphology)
        self._waiting.begin(Phase.ANNOUNCED)

    @property
    def ways(self) -> int:
        """Number of motions so far that have brought the robot to another place."""
        return self.attempts.count + self._topples

    def is_ready(self, sensed: Sensed) -> bool:
        """Return whether the condition for which a phase waits at its end is met already."""
        if self._motion.phase is Phase.PROBE:
            return self._probe.update(sensed.joints)
        return self._motion.phase is Phase.TUCK and sensed.up[2] > UPRIGHT and self._waiting.rest.calm >= CALM

    def next(self, sensed: Sensed) -> None:
        """Decide what follows the phase that has ended."""
        phase, up = self._motion.phase, float(sensed.up[2])
        if phase in ANNOUNCES:
            self._start_probe(sensed)
        elif phase is Phase.PROBE:
            self._go_on_probing(sensed)
        elif phase is Phase.STAR:
            if not self.spreading.go_on():
                self._waiting.begin(Phase.LIES)
        elif phase is Phase.LIES and not self._is_tangled(sensed):
            self._turn_over(sensed)
        elif phase is Phase.TOPPLE:
            self.spread()
        elif phase is Phase.ROLL:
            self._after_pose(up)
        elif phase is Phase.RAISE:
            self._tuck(TUCKS, HOLD, up)
        elif phase is Phase.TUCK:
            if self._seats and up > UPRIGHT and self.gait is not None:
                begin_standing(self._motion, self.gait)
            else:
                self.spread()

    # ---- from rest to STAR -------------------------------------------------------------------------------------------

    def _start_probe(self, sensed: Sensed) -> None:
        self._motion.begin_at(sensed.joints)
        self._probe.start(self._motion.moves, sensed.joints)
        self._motion.reason = ""
        self._nudge()

    def _nudge(self, lifts: bool = False) -> None:
        make = self._probe.lifted if lifts else self._probe.targets
        self._motion.move(Phase.PROBE, make(self._poses.star), 0.25, hold=PROBE_HOLD)

    def _go_on_probing(self, sensed: Sensed) -> None:
        stands = sensed.up[2] > FLAT  # on its feet, maybe: the ground can hold a joint by friction
        if self._probe.update(sensed.joints):
            self.spread()
        elif self._probe.tries < TRIES + stands:
            self._nudge(lifts=self._probe.tries >= TRIES)
        else:
            names = self._motion.names(~self._probe.answered)
            self._motion.end(Phase.STOPPED, f"{names}: does not move; somebody or something holds it, or it is broken")

    def spread(self) -> None:
        """Begin to move the legs to STAR."""
        self.spreading.begin(self._probe.before)  # a missing leg may have any angles

    def _is_tangled(self, sensed: Sensed) -> bool:
        """Return whether joints have not reached STAR; then it tries another way, continues or gives up."""
        off = self.spreading.off(sensed.joints)
        if not off.any():
            return False
        if not self.spreading.settled:
            return True  # the last reading may be older than the last motion
        if sensed.up[2] > FLAT and self.spreading.plans > 1:
            return False  # it lies on its belly, and the ground blocks a leg: this is no reason to give up
        if self.spreading.may_try(self.ways):
            self._motion.rest_at(sensed.joints)
            self.spread()
        else:
            self._motion.end(Phase.FAILED, f"{self._motion.names(off)}: no way to spread the legs was found")
        return True

    # ---- from STAR to standing ---------------------------------------------------------------------------------------

    def _turn_over(self, sensed: Sensed) -> None:
        motion, up = self._motion, float(sensed.up[2])
        if up > FLAT:
            if self.raises:
                self._raise(sensed)
            else:
                self._tuck(0.5, 0.2, up)
        elif abs(up) < EDGE and self._topples < MOST_TOPPLES:
            self._topples += 1
            motion.move(Phase.TOPPLE, self._poses.over, 0.3, hold=0.3)
        elif self.attempts.count >= motion.settings.attempts:
            motion.end(Phase.FAILED, f"{self.attempts.count} attempts have not turned the robot over")
        else:
            self.attempts.next(self._poses.aside)
            self._start_pose()

    def _raise(self, sensed: Sensed) -> None:
        """Begin to raise all legs in their present poses, because an object beside the body could block a tibia
        that folds.
        """
        self._motion.begin_at(sensed.joints)
        target = self._motion.setpoints.copy()
        target[1::3] = self._poses.tuck[1::3]
        self._motion.move(Phase.RAISE, target, 0.5)

    def _start_pose(self) -> None:
        turn = self.attempts
        self._motion.move(Phase.ROLL, turn.poses[turn.pose], turn.least_time, most=ROLL_SPEED)

    def _after_pose(self, up: float) -> None:
        if self.attempts.go_on():
            self._start_pose()
        else:
            self._tuck(TUCKS, HOLD, up)

    def sit_if_upright(self, sensed: Sensed) -> None:
        """Where the robot is upright while it tucks its legs, tuck them only as far as it sits with its gait."""
        if self._motion.phase is Phase.TUCK and not self._seats and sensed.up[2] > UPRIGHT:
            self._tuck(0.0, self._motion.hold, float(sensed.up[2]))

    def _tuck(self, least: float, hold: float, up: float) -> None:
        """Begin to tuck the legs; where the robot is upright already, as far as it sits with its gait."""
        target, self._seats = self._poses.tuck.copy(), up > UPRIGHT
        if self._seats and self.gait is not None:
            works = self._motion.moves & ~self._motion.spare
            target[works] = self._poses.towards_tuck(seated(self.gait))[works]
        self._motion.move(Phase.TUCK, target, least, hold)


MOST_BLOCKED = 2  # number of new beginnings after a joint was blocked


class Obstruction:
    """Watches a motion; `begin` with each request."""

    def __init__(self, motion: Motion, waiting: Waiting, phases: Phases) -> None:
        self._motion, self._waiting, self._phases = motion, waiting, phases
        self._beginnings = 0  # new ones, after a joint was blocked

    def begin(self) -> None:
        """Begin anew."""
        self._beginnings = 0

    def is_met(self, sensed: Sensed) -> bool:
        """Return whether something is in the way, and do what helps: the tick has ended, or getting up has."""
        motion = self._motion
        reason = self._reason()
        if not reason:
            return False
        falls = self._falls
        if not falls and (self._finds_another_way(sensed) or self._gives_way(sensed)):
            return False
        if falls or self._beginnings >= MOST_BLOCKED:
            motion.end(Phase.STOPPED, reason)
        else:
            self._begin_again(sensed, reason)
        return True

    @property
    def _falls(self) -> bool:
        return self._waiting.rest.falling > self._motion.settings.free_fall

    def _reason(self) -> str:
        """Return why the motion has to stop, empty if it need not."""
        if self._falls:
            return "free fall: the robot was lifted or dropped"
        follow = self._motion.follow
        if self._motion.blocked.any():
            j = int(np.argmax(follow.off_for))
            name = self._motion.robot.joint_names[j]
            return f"{name} does not follow, it is {follow.error[j]:.2f} rad off: blocked or held"
        return ""

    def _finds_another_way(self, sensed: Sensed) -> bool:
        """Try another way to STAR once if a leg is blocked, because another leg may have moved since it was
        measured.
        """
        phases = self._phases
        if self._motion.phase is not Phase.STAR or not phases.spreading.may_try(phases.ways):
            return False
        self._motion.begin_at(sensed.joints)
        phases.spread()
        return True

    def _gives_way(self, sensed: Sensed) -> bool:
        """Let joints of a damaged leg that are blocked, from the roll on, keep their angles; return False if
        others are blocked, too.
        """
        late = self._motion.blocked
        if self._motion.phase not in ROLLS_OR_RISES or (late & ~self._motion.spare).any():
            return False
        self._motion.keep(late, sensed.joints)
        return True

    def _begin_again(self, sensed: Sensed, reason: str) -> None:
        """Stop all joints, because one is blocked, then try each of them again as at the beginning."""
        self._beginnings += 1
        self._phases.raises = True
        self._motion.rest_at(sensed.joints)
        self._waiting.begin(Phase.BLOCKED)
        self._motion.reason, self._waiting.rest.at_rest = reason, 0.0


class GetUp:
    """Brings a robot from any attitude on the ground to standing; stepped at a constant rate.

        get_up = GetUp(robot, library)
        get_up.begin(gait, morphology)          # HexapodError: it cannot
        setpoints = get_up.step(dt, sensed)     # (n,) [rad], NaN where a joint is not commanded; None: command nothing

    It waits until the robot has been at rest for `announce` seconds, and ends in Phase.DONE, FAILED or STOPPED
    with a `reason`; after that no joint moves until the next `begin`. `gait` stands up at the end and can walk on
    from there.
    """

    def __init__(
        self, robot: Robot, library: GetUpLibrary, settings: GetUpSettings | None = None, dt: float = 0.02
    ) -> None:
        self.robot, self.library, self.settings = robot, library, settings or GetUpSettings()
        self._motion = Motion(robot, self.settings, dt)
        self._waiting = Waiting(self._motion, dt)
        self._yielding = Yielding(robot, dt)
        self._phases = Phases(self._motion, self._waiting)
        self._obstruction = Obstruction(self._motion, self._waiting, self._phases)

    # ---- requests ----------------------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return self._motion.phase

    @property
    def reason(self) -> str:
        """Why it ended, or waits, in words; empty where there is nothing to say."""
        return self._motion.reason

    @property
    def active(self) -> bool:
        """Whether it is active."""
        return self.phase not in ENDED

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
        self._motion.adopt(morphology, lost)
        self._motion.reason = ""
        self._waiting.rest.at_rest = self._waiting.rest.falling = 0.0
        self._obstruction.begin()
        self._yielding.begin()
        self._phases.begin(gait, plan, morphology)

    def stop(self, reason: str) -> None:
        """Freeze at once; no joint moves until the next `begin`."""
        if self.active:
            self._motion.end(Phase.STOPPED, reason)

    def lack(self, what: str) -> None:
        """Note missing measurements, in words: before the first motion the robot waits for them, later they end
        the attempt.
        """
        if self.phase is Phase.ANNOUNCED:
            self._waiting.lack(what)
        else:
            self.stop(what)

    @property
    def attempts(self) -> int:
        """Number of attempts to turn over that have begun."""
        return self._phases.attempts.count

    @property
    def doing(self) -> str:
        """The present action, in words."""
        if self.phase is Phase.ROLL:
            turn = self._phases.attempts
            return f"{self.phase.value}, pose {turn.pose + 1} of {len(turn.poses)}, attempt {turn.count}"
        return f"{self.phase.value}: {self.reason}" if self.reason else self.phase.value

    # ---- every tick --------------------------------------------------------------------------------------------------

    def step(self, dt: float, sensed: Sensed) -> np.ndarray | None:
        """Advance by dt [s]; return the set-points (n,) [rad] to command, NaN for joints without one; None:
        command nothing.
        """
        motion, waiting = self._motion, self._waiting
        waiting.sense(dt, sensed)
        if not self.active:
            return None
        motion.time += dt
        if self.phase in WAITS:
            self._wait(dt, sensed)
            holds = self.phase is Phase.ANNOUNCED and not waiting.eased  # as before it was asked
            return None if holds or not self.active else self._sent(dt, sensed)
        motion.follow.update(dt, motion.setpoints, sensed.joints, self._yielding.moved)
        if not self._obstruction.is_met(sensed):
            self._go_on(dt, sensed)
        return self._sent(dt, sensed) if self.active or self.phase is Phase.DONE else None

    def _sent(self, dt: float, sensed: Sensed) -> np.ndarray:
        """Return the set-points (n,) [rad] to command: those of the motion, except where a joint gives way."""
        return self._yielding.follow(dt, self._motion.setpoints, sensed.joints, self._motion.fastest)

    def _wait(self, dt: float, sensed: Sensed) -> None:
        outcome = self._waiting.step(dt, sensed)
        if outcome is Wait.RESTED:
            self._phases.next(sensed)
        elif outcome is Wait.FAILED:
            self._motion.end(Phase.FAILED, self._waiting.reason)

    def _go_on(self, dt: float, sensed: Sensed) -> None:
        """Go on with the present move, or begin the next one where it has ended."""
        motion, phases = self._motion, self._phases
        if self.phase is Phase.STAND:
            if phases.gait is not None:
                step_standing(motion, phases.gait, self._waiting.rest, dt, sensed)
            return
        phases.sit_if_upright(sensed)
        motion.advance()
        if motion.over or (motion.arrived and phases.is_ready(sensed)):
            phases.next(sensed)
