"""Getting up after a fall: who may ask for it, what it needs, and everything that stops it.

The robot moves only after 2 s of rest, which are announced. An emergency stop, and anything else that makes the servos
ignore commands, stops it in any phase; then no joint moves until the next request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.recovery.get_up import ANNOUNCING_PHASES, GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.gait.recovery.motion import Measured
from hexapod_dynamics.robot import Morphology, Robot

if TYPE_CHECKING:
    from hexapod_dynamics.onboard.gait_control import GaitControlSettings

AUTOMATIC = "automatic"
OLDEST_IMU = 0.3  # [s] age of a sample above which getting up ends

Vector = Sequence[float]


class GettingUp:
    """Runs a GetUp. active: it commands the joints; doing: what it does, for people; times are seconds on one clock.

    Args:
        robot: the Robot.
        settings: get_up, get_up_speed and period of GaitControlSettings.
        report: report(level, text) for each change of what it does; level: warn or error.
        announce: announce(on) when the motion is announced (buzzer), and when that ends.

    """

    def __init__(
        self,
        robot: Robot,
        settings: GaitControlSettings,
        report: Callable[[str, str], None],
        announce: Callable[[bool], None],
    ) -> None:
        self._automatic, self._log, self._announce = settings.get_up == AUTOMATIC, report, announce
        self._period = settings.period
        self._get_up = GetUp(robot, GetUpLibrary.load_for_robot(robot), settings.get_up_speed, settings.period)
        self._morphology = Morphology.whole(robot)
        n = robot.joint_count
        self._sensed = Measured(np.full(n, np.nan), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self._imu_time = self._joints_time = -math.inf
        self.executes = False  # whether the servos execute commands
        self._reported, self._announces = self._get_up.doing, False  # so that the idle state is not reported
        self._last = np.full(n, np.nan)

    @property
    def active(self) -> bool:
        """Whether the robot is getting up, or is about to."""
        return self._get_up.active

    @property
    def doing(self) -> str:
        """The action, or the reason for its end, in words; empty after the robot has stood up."""
        return "" if self._get_up.phase in (Phase.IDLE, Phase.DONE) else self._get_up.doing

    # ---- requests ----------------------------------------------------------------------------------------------------

    def begin(self, t: float, gait: Gait, fallen: bool) -> None:
        """Begin at the time t [s]; HexapodError tells why not. gait: gives the stance to end in."""
        if not fallen:
            raise HexapodError("the robot has not fallen")
        if not self.executes:
            raise HexapodError("servos does not execute commands: /diagnostics says why, and what ends that")
        if t - self._imu_time > OLDEST_IMU:
            raise HexapodError("imu/data with an orientation is needed, and does not come")
        self._get_up.begin(gait, self._morphology)
        self._sensed.joints[:], self._joints_time = np.nan, -math.inf
        self._report()

    def note_fall(self, t: float, gait: Gait) -> None:
        """Note that the robot has fallen: in `automatic` it gets up, once for each fall."""
        if self._automatic and not self.active:
            self._try(t, gait, True)

    def _try(self, t: float, gait: Gait, fallen: bool) -> None:
        try:
            self.begin(t, gait, fallen)
        except HexapodError as error:
            self._log("error", f"does not get up: {error}")

    def set_morphology(self, t: float, morphology: Morphology, gait: Gait, fallen: bool) -> None:
        """Adopt a Morphology; a robot that is getting up starts again, with the 2 s of rest."""
        changed, self._morphology = morphology != self._morphology, morphology
        if changed and self.active:
            self.stop("what is left of the robot has changed")
            self._try(t, gait, fallen)

    def set_following(self, following: bool) -> None:
        """Note whether the servos execute commands."""
        self.executes = following
        if not following:
            self.stop("servos does not execute commands: emergency stop, sit or release")

    def stop(self, reason: str) -> None:
        """End it at once, if it is active: no joint moves until the next request."""
        self._get_up.stop(reason)
        self._report()

    # ---- measurements ------------------------------------------------------------------------------------------------

    def sense(self, t: float, rotation: np.ndarray | None, rate: Vector | None, force: Vector | None) -> None:
        """Process an attitude (3, 3) world <- base_link, angular velocity (3,) and specific force (3,) in base_link
        axes, at the time t [s]; a sample in which one of them is None is not used.
        """
        if rotation is None or rate is None or force is None:
            return
        self._imu_time = t
        if self.active:
            self._sensed.up = rotation[2].tolist()
            self._sensed.rate, self._sensed.force = rate, force

    def measure_joints(self, t: float, angles: np.ndarray) -> None:
        """Process measured joints (n,) [rad], NaN if unknown, at the time t [s]."""
        known = np.isfinite(angles)
        self._sensed.joints[known] = angles[known]
        self._joints_time = t

    # ---- every tick --------------------------------------------------------------------------------------------------

    def step(self, t: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return positions and velocities (n,) to command for the next period; None if there is no command."""
        reason = self._missing(t)
        if reason:
            self._get_up.note_missing(reason)
        setpoints = self._get_up.step(self._period, self._sensed)
        self._report()
        if setpoints is None:
            self._last[:] = np.nan
            return None
        rates = np.nan_to_num((setpoints - self._last) / self._period)
        self._last[:] = setpoints
        return setpoints, rates

    def _missing(self, t: float) -> str:
        if t - self._imu_time > OLDEST_IMU:
            return "no imu/data"
        if self._get_up.phase is not Phase.ANNOUNCED and t - self._joints_time > 1.0:
            return "no joint_states"
        return ""

    def _report(self) -> None:
        doing, announces = self._get_up.doing, self._get_up.phase in ANNOUNCING_PHASES
        if announces != self._announces:
            self._announces = announces
            self._announce(announces)
        if doing != self._reported:
            self._reported = doing
            ended = self._get_up.phase in (Phase.STOPPED, Phase.FAILED)
            self._log("error" if ended else "warn", f"get up: {doing}")
