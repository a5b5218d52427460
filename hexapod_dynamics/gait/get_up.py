"""Gets up again: from any attitude on the ground to standing on the legs that are left.

Each joint is tried first: if one does not move, because somebody holds it, the attempt ends. In STAR, with all
legs straight out, a robot lies flat on its belly or on its back, from any attitude; legs that lie across each
other move there one after the other (untangle.py). From the back one manoeuvre (get_up_manoeuvre.py) rolls it
over; a second attempt is slow. A leg that is damaged but exists takes no part at first, except where only its coxa
is damaged, or of a middle leg only its femur; its blocked joints keep their angles. A joint that pushes in vain with
all its torque gives way (get_up_yield.py). If another joint is blocked, all joints stop, and the robot begins again
with their trial. When the legs are tucked and the IMU measures an upright body, the gait stands up on the remaining
legs. Measurements decide after each phase (get_up_phases.py); an unexpected measurement ends the motion with a reason
(get_up_trouble.py).
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.get_up_library import GetUpLibrary
from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_phases import Phases
from hexapod_dynamics.gait.get_up_poses import legs_damaged_only_at, lost_legs
from hexapod_dynamics.gait.get_up_stand import step_standing
from hexapod_dynamics.gait.get_up_state import ENDED, WAITS, GetUpSettings, Phase, Sensed
from hexapod_dynamics.gait.get_up_trouble import Trouble
from hexapod_dynamics.gait.get_up_wait import Wait, Waiting
from hexapod_dynamics.gait.get_up_yield import Yielding
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.robot import Morphology, Robot


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
        self._trouble = Trouble(self._motion, self._waiting, self._phases)

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
        self._trouble.begin()
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
        if not self._trouble.is_met(sensed):
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
