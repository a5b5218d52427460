"""Getting up after a fall, in the node gait: the service `get_up`, and everything that stops it.

The robot moves only after 2 s of rest, which are announced in the log, in gait_state, and by the topic `buzzer`.
An emergency stop, and anything else that makes `servos` ignore commands, stops it in any phase; then no joint
moves until the next request.
"""

import time

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.get_up import GetUp
from hexapod_dynamics.gait.get_up_library import find_get_up_library
from hexapod_dynamics.gait.get_up_state import ANNOUNCES, GetUpSettings, Phase, Sensed
from hexapod_dynamics.parameters.gait import GET_UP
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import LATCHED, declare_all
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

AUTOMATIC = "automatic"
# Age [s] of measurements above which getting up ends.
OLDEST_IMU, OLDEST_JOINTS = 0.3, 1.0
MOVED_ON = "what is left of the robot has changed"


class GetUpControl:
    """Runs a GetUp for the node gait. active: it commands the joints; doing: what it does, for the diagnostics."""

    def __init__(self, node, period):
        self._node, self._robot, self._period = node, node.robot, period
        values = declare_all(node, GET_UP)
        self._automatic = values["get_up"] == AUTOMATIC
        self._get_up = GetUp(
            node.robot,
            find_get_up_library(node.robot),
            GetUpSettings(speed=values["get_up_speed"]),
            period,
        )
        self._morphology = Morphology.whole(node.robot)
        n = node.robot.joint_count
        self._sensed = Sensed(np.full(n, np.nan), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self._imu_time = self._joints_time = None
        self._executes = False  # whether `servos` executes commands
        self._logged = self._get_up.doing  # so that the idle state is not logged
        self._last = np.full(n, np.nan)
        self._buzzer, self._buzzes = node.create_publisher(Bool, "buzzer", 1), False
        subscribe(node, Bool, "servos/following", self._on_following, LATCHED)
        node.create_service(Trigger, "get_up", self._on_get_up)

    @property
    def active(self):
        """Whether the robot is getting up, or is about to."""
        return self._get_up.active

    @property
    def doing(self):
        """The action, or the reason for its end, in words; empty after the robot has stood up."""
        return "" if self._get_up.phase in (Phase.IDLE, Phase.DONE) else self._get_up.doing

    # ---- requests ----------------------------------------------------------------------------------------------------

    def _on_get_up(self, _, answer):
        try:
            self._begin()
            answer.success, answer.message = True, f"moves after {self._get_up.settings.announce:.0f} s at rest"
        except HexapodError as error:
            answer.success, answer.message = False, str(error)
        return answer

    def _begin(self):
        if not self._node.permit.waiting:
            raise HexapodError("the robot has not fallen")
        if not self._executes:
            raise HexapodError("servos does not execute commands: it was stopped, or is not there (`stop --resume`)")
        if self._imu_time is None or time.monotonic() - self._imu_time > OLDEST_IMU:
            raise HexapodError("imu/data with an orientation is needed, and does not come")
        self._get_up.begin(self._node.gait, self._morphology)
        self._sensed.joints[:], self._joints_time = np.nan, None
        self._log()

    def fell(self):
        """Note that the robot has fallen: in `automatic` it gets up, once for each fall."""
        if not self._automatic or self.active:
            return
        try:
            self._begin()
        except HexapodError as error:
            self._node.get_logger().error(f"does not get up: {error}")

    def set_morphology(self, morphology):
        """Adopt a Morphology; a robot that is getting up starts again, with the 2 s of rest."""
        changed, self._morphology = morphology != self._morphology, morphology
        if changed and self.active:
            self._get_up.stop(MOVED_ON)
            try:
                self._begin()
            except HexapodError as error:
                self._node.get_logger().error(f"does not get up: {error}")

    def _on_following(self, message):
        self._executes = message.data
        if not message.data:
            self._get_up.stop("servos does not execute commands: emergency stop, sit or release")
            self._log()

    # ---- measurements ------------------------------------------------------------------------------------------------

    def sense(self, now, rotation, rate, force):
        """Process an attitude (3, 3) world <- base_link, angular velocity (3,) and specific force (3,) in base_link
        axes, at the monotonic time `now` [s]; a sample in which one of them is None is not used.
        """
        if rotation is None or rate is None or force is None:
            return
        self._imu_time = now
        if self.active:
            self._sensed.up = rotation[2].tolist()
            self._sensed.rate, self._sensed.force = rate, force

    def measure_joints(self, angles):
        """Process measured joints (n,) [rad], NaN if unknown."""
        known = np.isfinite(angles)
        self._sensed.joints[known] = angles[known]
        self._joints_time = time.monotonic()

    # ---- every tick --------------------------------------------------------------------------------------------------

    def step(self, dt):
        """Return positions and velocities (n,) to command; None if there is no command."""
        reason = self._missing()
        if reason:
            self._get_up.lack(reason)
        setpoints = self._get_up.step(dt, self._sensed)
        self._log()
        if setpoints is None:
            self._last[:] = np.nan
            return None
        rates = np.nan_to_num((setpoints - self._last) / dt)
        self._last[:] = setpoints
        return setpoints, rates

    def _missing(self):
        now, waits = time.monotonic(), self._get_up.phase is Phase.ANNOUNCED
        if self._imu_time is None or now - self._imu_time > OLDEST_IMU:
            return "no imu/data"
        if not waits and (self._joints_time is None or now - self._joints_time > OLDEST_JOINTS):
            return "no joint_states"
        return ""

    def _log(self):
        doing, announces = self._get_up.doing, self._get_up.phase in ANNOUNCES
        if announces != self._buzzes:
            self._buzzes = announces
            self._buzzer.publish(Bool(data=announces))
        if doing != self._logged:
            self._logged = doing
            ended = self._get_up.phase in (Phase.STOPPED, Phase.FAILED)
            log = self._node.get_logger()
            (log.error if ended else log.warning)(f"get up: {doing}")
            self._node.publish_state()
