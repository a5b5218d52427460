"""Turns cmd_vel into joint commands, 50 times a second; walks with the existing legs (onboard.gait_control)."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Pose, WrenchStamped
from hexapod_dynamics.control.walk_permit import WalkPermit
from hexapod_dynamics.errors import HexapodError, ParameterError
from hexapod_dynamics.nodes.command_watch import source_name
from hexapod_dynamics.nodes.messages import StampConverter, read_rotation
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.nodes.velocity_input import VelocityInput
from hexapod_dynamics.onboard.gait_control import NEW_COMMAND, NOT_KNOWN, GaitControl, GaitControlSettings, State
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, RATE
from hexapod_dynamics.parameters.gait import GAIT, PARAMETERS, SETTINGS
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.node_functions import FOREIGN, LATCHED, Diagnostics, declare_all, make_status
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import roll_pitch_yaw
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger


def declare_command_rate(node: Node) -> float:
    """Declare the gait's parameter `rate` [1/s], which must be 1 / `command_period`; return the period [s]."""
    period = declare_all(node, [COMMAND_PERIOD]).read("command_period", float)
    rate = declare_all(node, [RATE], period).read("rate", float)
    if abs(rate * period - 1.0) > 1e-6:
        raise ParameterError(
            f"parameter rate is {rate} and command_period {period}: servos and dynamics would assume another rate of "
            f"the commands; set command_period alone, to {1.0 / rate:.6g}, in the section /**: of the parameter file"
        )
    return period


class GaitNode(RobotNode):
    """Publishes `joint_commands` for joints that exist and move; subscribes to `cmd_vel`, `morphology`, `imu/data`,
    `joint_states`.
    """

    def __init__(self) -> None:
        super().__init__("gait", PARAMETERS)
        values = self.values
        self._waits_for = values.read_texts("wait_for")
        self._ready = False  # all topics of `wait_for` have had a publisher
        self._reported, self._command = "", JointState()
        self._command.header.frame_id = source_name(self)  # `servos` follows one source at a time
        self._buzzer = self.create_publisher(Bool, "buzzer", 1)
        self.session_state: SessionState = SessionState(self)
        of_gait = {spec.name: values[spec.name] for spec in SETTINGS}
        settings = make_settings(GaitControlSettings, values, values=of_gait, period=declare_command_rate(self))
        self.control = GaitControl(
            self.robot,
            settings,
            permit=self._restore_permit(settings.cmd_vel_timeout),
            report=self._report,
            announce=lambda on: self._buzzer.publish(Bool(data=on)),
            keep=self.session_state.post,
            faults=self.faults,
        )
        self.ending.callback(self.control.close)
        permit = self.control.permit
        if not self.session_state.save(permit.state) and permit.by_itself:
            permit.by_itself = False
            self.get_logger().warning("without it the robot does not start to walk with `velocity`: send cmd_vel")
        self._publisher, self._stamps = self.create_publisher(JointState, "joint_commands", 10), StampConverter()
        self._state_publisher = self.create_publisher(DiagnosticStatus, "gait_state", LATCHED)
        self.loop = TickLoop(self, settings.period, self._tick)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, 1)
        self._velocity = VelocityInput(
            self, lambda twist: self.control.command(time.monotonic(), twist), settings.cmd_vel_timeout
        )
        self.subscribe_measured("joint_states", self.control.joints, lambda: self.control.awaits_joints)
        self.subscribe_morphology(lambda morphology: self.control.set_morphology(time.monotonic(), morphology))
        self.subscribe_following(self.control.set_following)
        self.create_subscription(Pose, "body_pose", self._on_body_pose, FOREIGN)
        self.create_subscription(WrenchStamped, "payload_wrench", self._on_payload, LATCHED)
        self.create_subscription(String, "press_foot", lambda m: self.control.probe_foot(m.data), 10)
        self.create_subscription(String, "try_joint", lambda m: self.control.try_joint(time.monotonic(), m.data), 10)
        self._serve("stand", self.control.stand)
        self._serve("sit", self.control.sit)
        self._serve("get_up", lambda: self.control.ask_to_get_up(time.monotonic()))
        self.add_on_set_parameters_callback(self._on_parameters)
        self._diagnostics = Diagnostics(self, self.robot.name, self._diagnose)

    def _restore_permit(self, timeout: float) -> WalkPermit:
        """Return the walk permit from before a crash; if it was stored but cannot be read, the robot waits for a
        new command.
        """
        stored = self.session_state
        state = stored.load()
        if state is None and not (stored.unreadable or stored.lost):
            return WalkPermit(pause=timeout)
        permit = WalkPermit.restored(state, time.monotonic(), pause=timeout)
        if not permit.state_known:
            why = stored.problem or "the stored state has another shape"
            self.get_logger().warning(f"{NOT_KNOWN} ({why}): {NEW_COMMAND}")
        elif stored.lost or stored.unreadable:
            permit.by_itself = False
        return permit

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _on_imu(self, message: Imu) -> None:
        now, fallen = time.monotonic(), self.control.permit.fallen
        self.control.imu(now, self.read_imu(message, now)[1])
        if self.control.permit.fallen != fallen:
            self._diagnostics.publish()

    def _on_body_pose(self, message: Pose) -> None:
        place, angles = message.position, roll_pitch_yaw(read_rotation(message.orientation))
        self.control.set_body_pose((place.x, place.y, place.z, *angles))

    def _on_payload(self, message: WrenchStamped) -> None:
        """Process the weight of the load: a force along -z of the level body."""
        force, torque, gravity = message.wrench.force, message.wrench.torque, self.robot.gravity
        self.control.set_payload(-force.z / gravity, torque.y / gravity, -torque.x / gravity)

    def _serve(self, name: str, action: Callable[[], object]) -> None:
        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = True, action() or "ok"
            return response

        self.create_service(Trigger, name, answer)

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        given = {parameter.name: parameter.value for parameter in parameters}
        try:
            for spec in (GAIT, *SETTINGS):  # first what can never be, then what cannot be now
                if spec.name in given:
                    spec.check(given[spec.name])
            self.control.change(given)
        except HexapodError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._ready = self._ready or all(self.count_publishers(topic) for topic in self._waits_for)
        command = self.control.step(time.monotonic(), self._ready)
        if command is not None:
            message = self._command
            self._stamps.write(message.header.stamp, time.monotonic())
            message.name = [self.robot.joint_names[joint] for joint in command.joints]
            message.position, message.velocity = command.positions, command.velocities
            self._publisher.publish(message)
            if self._reported != self.control.doing:
                self._diagnostics.publish()

    def _report(self, level: str, text: str) -> None:
        log = self.get_logger()
        if level == "error":  # a line each: rclpy wants one severity for each place of a call
            log.error(text)
        elif level == "warn":
            log.warning(text)
        else:
            log.info(text)
        if hasattr(self, "_diagnostics"):
            self._diagnostics.publish()

    def _diagnose(self) -> State:
        now = time.monotonic()
        self._reported = self.control.doing
        level, message, values = self.control.state(now)
        lost, words = self.session_state.assess(now)
        if failure := self.session_state.failure:
            lost, words = "warn", [f"a restart of this node would lose whether it may walk: {failure}"]
        if lost != "ok" and level != "error":
            level, message = lost, "; ".join([*words, message])
        self._state_publisher.publish(make_status("gait", self.robot.name, level, message, values))
        return level, message, values

    def destroy_node(self) -> None:
        """Destroy the second participant of cmd_vel, if there is one, then the node."""
        self._velocity.close()
        super().destroy_node()
