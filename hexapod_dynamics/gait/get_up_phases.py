"""The phases of getting up, and which of them follows by the measurements at the end of another.

rest -> probe -> star -> on an edge: topple, star -> on the back: four poses -> tuck -> stand
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_dynamics.gait.get_up_attempts import Attempts
from hexapod_dynamics.gait.get_up_manoeuvre import Manoeuvre
from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_poses import seated
from hexapod_dynamics.gait.get_up_spread import Spreading
from hexapod_dynamics.gait.get_up_stand import begin_standing
from hexapod_dynamics.gait.get_up_state import ANNOUNCES, UPRIGHT, Phase, Sensed
from hexapod_dynamics.gait.get_up_wait import Waiting
from hexapod_dynamics.gait.get_up_watch import TRIES, JointProbe
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.robot import Morphology

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
            return self._probe.look(sensed.joints)
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
        if self._probe.look(sensed.joints):
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
