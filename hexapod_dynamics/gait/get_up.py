"""Gets up again: from any attitude on the ground to standing on the legs that are left.

    rest -> probe -> star -> on an edge: topple, star -> on the back: four poses -> tuck -> stand

Each joint is tried first: if one does not move, because somebody holds it, the attempt ends. In STAR, with all
legs straight out, a robot lies flat on its belly or on its back, from any attitude; legs that lie across each
other move there one after the other (untangle.py). From the back one manoeuvre (get_up_manoeuvre.py) rolls it
over; a second attempt is slow. A leg that is damaged but exists takes no part; its blocked joints keep their
angles. If another joint is blocked, all joints stop, and the robot begins again with their trial. When the legs
are tucked and the IMU measures an upright body, the gait stands up on the remaining legs. Measurements decide
after each phase; an unexpected measurement ends the motion with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.get_up_attempts import Attempts
from hexapod_dynamics.gait.get_up_library import GetUpLibrary
from hexapod_dynamics.gait.get_up_poses import GetUpPoses, lost_legs, seated
from hexapod_dynamics.gait.get_up_state import ANNOUNCES, ENDED, ROLLS_OR_RISES, WAITS, GetUpSettings, Phase, Sensed
from hexapod_dynamics.gait.get_up_watch import MEMORY, TRIES, FollowWatch, JointProbe, RestWatch, SwingWatch
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.untangle import LegSpace, untangled
from hexapod_dynamics.robot import Morphology, Robot

PROBE_HOLD = 1.0  # [s] longest wait until each tried joint has been read at its new angle, because readings may be late
TUCKS, HOLD = 0.8, 0.5  # [s] duration of tucking the legs after a roll, and longest time of lying after it
CALM = 0.1  # [s] upright without tipping after which the wait ends
# Upward component of the body's z axis: of a body that lies flat, of one that is upright.
FLAT, UPRIGHT = 0.85, 0.9
# size of this component below which the robot stands on an edge; number of attempts to topple
EDGE, MOST_TOPPLES = 0.6, 3
ROLL_SPEED = 3.0  # [rad/s] of any joint in a roll, at most: manoeuvres are made at 2, and faster ones are others
TANGLED = 0.3  # [rad] distance from STAR after all moves to it above which legs are tangled
# A robot that swings where it lies for EASES, without rest for STEADY, lets its joints give way for YIELDS [s]; then
# again, for longer.
EASES, STEADY, YIELDS = 3.0, 0.5, 0.5
MOST_BLOCKED = 2  # number of new beginnings after a joint was blocked
MOST_PLANS = 3  # number of ways to STAR that are tried


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
        self._poses = GetUpPoses(robot)
        self._spare = np.zeros(robot.joint_count, bool)  # joints of legs that are damaged but exist
        n = robot.joint_count
        self._names = robot.joint_names
        self._moves = np.ones(n, bool)
        self._rest, self._swing = RestWatch(), SwingWatch(dt)
        self._follow = FollowWatch(n, dt, self.settings.follow_limit)
        self._setpoints, self._from, self._to = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        self._probe = JointProbe(n)
        self._gait: Gait | None = None
        self._attempts = Attempts(robot)
        self._time = self._lasts = self._hold = self._waited = self._lacked = 0.0
        self._lacks = ""  # measurements that are missing now, in words
        self._plans = self._topples = self._blocked = 0
        # How often the joints have given way in this phase, and for how long [s] they will.
        self._eased, self._yields = 0, 0.0
        self._seats = False  # the legs are tucked as far as the robot sits with its gait
        self._way: Iterator[np.ndarray | None] = iter(())
        self._space = LegSpace(robot)
        self.phase, self.reason = Phase.IDLE, ""

    # ---- requests ----------------------------------------------------------------------------------------------------

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
        plan = self.library.manoeuvres(lost)
        if not plan:
            raise HexapodError(
                f"no manoeuvre turns {self.robot.name} over without {', '.join(lost) or 'any loss'}; "
                "make one with `ros2 run hexapod_dynamics plan --get-up`"
            )
        self._moves[:] = morphology.moving_mask & morphology.driven_mask
        self._spare[:] = False
        for name in lost:
            joints = self.robot.leg_joints(name)
            self._spare[joints] = morphology.existing_mask[joints].all()
        self._gait = gait
        self._attempts.begin(plan, damaged=bool(self._spare.any()))
        self._poses.fold_aside(self._moves)
        self._space = LegSpace(self.robot, morphology)
        self._plans = self._topples = self._blocked = 0
        self._rest.at_rest = self._rest.falling = 0.0
        self.reason = ""
        self._enter(Phase.ANNOUNCED)

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
    def attempts(self) -> int:
        """Number of attempts to turn over that have begun."""
        return self._attempts.count

    @property
    def doing(self) -> str:
        """The present action, in words."""
        if self.phase is Phase.ROLL:
            turn = self._attempts
            return f"{self.phase.value}, pose {turn.pose + 1} of {len(turn.poses)}, attempt {turn.count}"
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
            self._await_rest(dt, sensed)
            holds = self.phase is Phase.ANNOUNCED and not self._eased  # as before it was asked
            return None if holds or not self.active else self._setpoints
        self._follow.update(dt, self._setpoints, sensed.joints)
        reason = self._trouble()
        if reason and not (self._finds_another_way(sensed) or self._gives_way(sensed)):
            if not self._begins_again(sensed, reason):
                self._end(Phase.STOPPED, reason)
                return None
            return self._setpoints
        if self.phase is Phase.STAND:
            self._stand(dt, sensed)
        else:
            if self.phase is Phase.TUCK and not self._seats and sensed.up[2] > UPRIGHT:
                self._tuck(0.0, self._hold, float(sensed.up[2]))
            share = min(1.0, self._time / self._lasts) if self._lasts > 0.0 else 1.0
            self._setpoints[:] = self._from + share * (self._to - self._from)
            late = self._time - self._lasts
            if late >= self._hold - 1e-9 or (late >= 0.0 and self._is_ready(sensed)):
                self._next(sensed)
        return self._setpoints if self.active or self.phase is Phase.DONE else None

    def _trouble(self) -> str:
        """Return why the motion has to stop, empty if it need not."""
        settings = self.settings
        if self._rest.falling > settings.free_fall:
            return "free fall: the robot was lifted or dropped"
        late = self._follow.off_for > settings.follow_time
        if late.any():
            j = int(np.argmax(self._follow.off_for))
            return f"{self._names[j]} does not follow, it is {self._follow.error[j]:.2f} rad off: blocked or held"
        return ""

    def _is_ready(self, sensed: Sensed) -> bool:
        """Return whether the condition for which a phase waits at its end is met already."""
        if self.phase is Phase.PROBE:
            return self._probe.look(sensed.joints)
        return self.phase is Phase.TUCK and sensed.up[2] > UPRIGHT and self._rest.calm >= CALM

    def _finds_another_way(self, sensed: Sensed) -> bool:
        """Try another way to STAR once if a leg is blocked, because another leg may have moved since it was
        measured.
        """
        if (
            self.phase is not Phase.STAR
            or self._rest.falling > self.settings.free_fall
            or self._plans >= MOST_PLANS + self.attempts + self._topples
        ):
            return False
        self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)
        self._follow.start(self._setpoints)
        self._spread()
        return True

    def _gives_way(self, sensed: Sensed) -> bool:
        """Let joints of a damaged leg that are blocked, from the roll on, keep their angles; return False if
        others are blocked, too.
        """
        late = self._follow.off_for > self.settings.follow_time
        may = self.phase in ROLLS_OR_RISES and self._rest.falling <= self.settings.free_fall
        if not may or (late & ~self._spare).any():
            return False
        for angles in (self._from, self._to, self._setpoints):
            angles[late] = sensed.joints[late]
        return True

    def _begins_again(self, sensed: Sensed, reason: str) -> bool:
        """Stop all joints, because one is blocked, then try each of them again as at the beginning."""
        if self._rest.falling > self.settings.free_fall or self._blocked >= MOST_BLOCKED:
            return False
        self._blocked += 1
        self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)
        self._enter(Phase.BLOCKED)
        self.reason, self._rest.at_rest = reason, 0.0
        return True

    def _await_rest(self, dt: float, sensed: Sensed) -> None:
        lacks, self._lacks = self._lacks or self._unread(sensed), ""
        if lacks and self.phase is Phase.ANNOUNCED:
            self._lacked += dt
            if self._lacked > self.settings.readings:
                self._end(Phase.FAILED, lacks)
            return
        self._waited += dt
        needed = self.settings.announce if self.phase in ANNOUNCES else self.settings.settle
        if self._rest.at_rest >= needed:
            self._next(sensed)
        elif self._waited > self.settings.patience + needed:
            self._end(Phase.FAILED, "the robot does not come to rest: it is being carried, held or shaken")
        elif self._waited >= EASES * (self._eased + 1) and self._swings():
            self._eased += 1
            self._yields = YIELDS * self._eased
            if self.phase is Phase.ANNOUNCED:
                self.reason = "it swings where it lies, the joints give way"
        if self._yields > 0.0:
            self._yields -= dt
            self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)

    def _swings(self) -> bool:
        """Return whether the robot swings where it lies, by itself, and does not come to rest."""
        rest = self._rest
        return rest.at_rest < STEADY and rest.in_place >= EASES and self._swing.repeats()

    # ---- phases ------------------------------------------------------------------------------------------------------

    def _next(self, sensed: Sensed) -> None:
        """Decide what follows the phase that has ended."""
        phase, up = self.phase, float(sensed.up[2])
        if phase in ANNOUNCES:
            self._start_probe(sensed)
        elif phase is Phase.PROBE:
            self._go_on_probing(sensed)
        elif phase is Phase.STAR:
            self._go_on_spreading()
        elif phase is Phase.LIES and not self._is_tangled(sensed):
            self._turn_over(sensed)
        elif phase is Phase.TOPPLE:
            self._spread()
        elif phase is Phase.ROLL:
            self._after_pose(up)
        elif phase is Phase.RAISE:
            self._tuck(TUCKS, HOLD, up)
        elif phase is Phase.TUCK:
            if self._seats and up > UPRIGHT:
                self._start_standing()
            else:
                self._spread()

    def _unread(self, sensed: Sensed) -> str:
        """Return the joints that have not been read, in words; empty if there are none."""
        unknown = self._moves & ~np.isfinite(sensed.joints)
        if not unknown.any():
            return ""
        names = ", ".join(name for name, one in zip(self._names, unknown, strict=True) if one)
        return f"{names}: no reading; declare what is lost (set_morphology), then ask again"

    def _start_probe(self, sensed: Sensed) -> None:
        self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)
        self._follow.start(self._setpoints)
        self._probe.start(self._moves, sensed.joints)
        self.reason = ""
        self._nudge()

    def _nudge(self) -> None:
        self._move(Phase.PROBE, self._probe.targets(self._poses.star), 0.25, hold=PROBE_HOLD)

    def _go_on_probing(self, sensed: Sensed) -> None:
        if self._probe.look(sensed.joints):
            self._spread()
        elif self._probe.tries < TRIES:
            self._nudge()
        else:
            names = ", ".join(name for name, one in zip(self._names, self._probe.answered, strict=True) if not one)
            self._end(Phase.STOPPED, f"{names}: does not move; somebody or something holds it, or it is broken")

    def _spread(self) -> None:
        """Begin to move the legs to STAR by a way on which they do not touch; it is searched in the background."""
        self._plans += 1
        # A missing leg may have any angles.
        here = np.nan_to_num(np.where(self._moves, self._setpoints, self._probe.before))
        self._way = untangled(self._space, here, np.where(self._moves, self._poses.star, np.nan))
        self._move(Phase.STAR, self._setpoints, 0.0)

    def _go_on_spreading(self) -> None:
        """Begin the next move, or the next attempt to find one; each takes a tick."""
        for target in self._way:
            if target is not None:
                self._move(Phase.STAR, target, 0.3)
            return
        self._enter(Phase.LIES)

    def _is_tangled(self, sensed: Sensed) -> bool:
        """Return whether joints have not reached STAR; then it tries another way, continues or gives up."""
        off = self._moves & (np.abs(sensed.joints - self._poses.star) > TANGLED)
        if not off.any():
            return False
        if self._time < MEMORY:
            return True  # the last reading may be older than the last motion
        if sensed.up[2] > FLAT and self._plans > 1:
            return False  # it lies on its belly, and the ground blocks a leg: this is no reason to give up
        if self._plans < MOST_PLANS + self.attempts + self._topples:
            self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)
            self._spread()
        else:
            names = ", ".join(name for name, one in zip(self._names, off, strict=True) if one)
            self._end(Phase.FAILED, f"{names}: no way to spread the legs was found")
        return True

    def _turn_over(self, sensed: Sensed) -> None:
        up = float(sensed.up[2])
        if up > FLAT:
            if self._blocked:
                self._raise(sensed)
            else:
                self._tuck(0.5, 0.2, up)
            return
        if abs(up) < EDGE and self._topples < MOST_TOPPLES:
            self._topples += 1
            self._move(Phase.TOPPLE, self._poses.over, 0.3, hold=0.3)
            return
        if self.attempts >= self.settings.attempts:
            self._end(Phase.FAILED, f"{self.attempts} attempts have not turned the robot over")
            return
        self._attempts.next(self._poses.aside)
        self._start_pose()

    def _raise(self, sensed: Sensed) -> None:
        """Begin to raise all legs in their present poses, because an object beside the body could block a tibia
        that folds.
        """
        self._setpoints[:] = np.where(self._moves, sensed.joints, np.nan)
        self._follow.start(self._setpoints)
        target = self._setpoints.copy()
        target[1::3] = self._poses.tuck[1::3]
        self._move(Phase.RAISE, target, 0.5)

    def _start_pose(self) -> None:
        turn = self._attempts
        self._move(Phase.ROLL, turn.poses[turn.pose], turn.least_time, most=ROLL_SPEED)

    def _after_pose(self, up: float) -> None:
        if self._attempts.go_on():
            self._start_pose()
        else:
            self._tuck(TUCKS, HOLD, up)

    def _tuck(self, least: float, hold: float, up: float) -> None:
        """Begin to tuck the legs; where the robot is upright already, as far as it sits with its gait."""
        target, self._seats = self._poses.tuck.copy(), up > UPRIGHT
        if self._seats and self._gait is not None:
            works = self._moves & ~self._spare
            target[works] = self._poses.towards_tuck(seated(self._gait))[works]
        self._move(Phase.TUCK, target, least, hold)

    def _start_standing(self) -> None:
        try:
            if self._gait is not None:
                self._gait.stand()
        except HexapodError as error:
            self._end(Phase.FAILED, f"the robot is upright, but it {error}")
            return
        self._enter(Phase.STAND)

    def _stand(self, dt: float, sensed: Sensed) -> None:
        """Let the gait stand up; it has ended when the gait stands and the robot is at rest, upright."""
        gait = self._gait
        if gait is None:
            return
        most = self.settings.speed * dt
        left = gait.step(dt)[0] - self._setpoints
        self._setpoints += np.clip(left, -most, most)
        if gait.doing == "sitting" and self._time > 5.0:
            self._end(Phase.FAILED, "the gait does not stand up")
        arrived = gait.doing == "standing" and not np.fmax.reduce(np.abs(left[~self._spare]), initial=0.0) > most
        if not arrived or self._rest.at_rest < self.settings.settle:
            if self._time > 15.0:
                self._end(Phase.FAILED, "the robot does not come to stand")
            return
        if sensed.up[2] > UPRIGHT:
            self._end(Phase.DONE, "")
        else:
            self._end(Phase.FAILED, "the robot tipped over while it stood up")

    # ---- moves -------------------------------------------------------------------------------------------------------

    def _move(
        self, phase: Phase, target: np.ndarray, least: float, hold: float = 0.0, most: float = float("inf")
    ) -> None:
        """Begin to move all joints uniformly to target (n,) [rad], in `least` [s] or longer, none faster than `most`
        [rad/s], then hold [s].
        """
        self._enter(phase)
        self._from[:] = self._setpoints
        self._to[:] = np.where(self._moves, self._poses.within(target), np.nan)
        way = np.fmax.reduce(np.abs(self._to - self._from), initial=0.0)
        self._lasts, self._hold = max(least, way / min(self.settings.speed, most)), hold

    def _enter(self, phase: Phase) -> None:
        self.phase, self._time, self._waited, self._lacked = phase, 0.0, 0.0, 0.0
        self._eased, self._yields = 0, 0.0

    def _end(self, phase: Phase, reason: str) -> None:
        self._enter(phase)
        self.reason = reason
