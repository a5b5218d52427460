"""What stops a robot that gets up, and what it does instead where it may go on: a blocked joint, a free fall."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_phases import Phases
from hexapod_dynamics.gait.get_up_state import ROLLS_OR_RISES, Phase, Sensed
from hexapod_dynamics.gait.get_up_wait import Waiting

MOST_BLOCKED = 2  # number of new beginnings after a joint was blocked


class Trouble:
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
