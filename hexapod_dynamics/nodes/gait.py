"""Turns cmd_vel into joint commands, 50 times a second; walks with the existing legs.

The robot walks with the parameter `velocity` only until the first `cmd_vel`. Then, and after a crash and respawn
of this node, it walks only as `cmd_vel` commands. After a fall no joint is commanded until the IMU measures an upright
robot and a new `cmd_vel` commands it to walk (control.walk_permit).
"""

import math
import time

import numpy as np

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose, Twist, WrenchStamped
from hexapod_dynamics.control.walk_permit import WalkPermit
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait.brace import Brace
from hexapod_dynamics.gait.interface import BRACES, OFF_ITS_FEET, WALKING
from hexapod_dynamics.gait.joint_trial import JointTrial
from hexapod_dynamics.nodes import gait_choice as gaits
from hexapod_dynamics.nodes.command_watch import source_name
from hexapod_dynamics.nodes.get_up import GetUpControl
from hexapod_dynamics.nodes.joint_messages import read_imu
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.nodes.shared_parameters import declare_command_rate
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.onboard.imu_input import ImuInput
from hexapod_dynamics.onboard.joint_input import JointInput
from hexapod_dynamics.parameters.gait import BRACE, COMMANDS, GAIT, SETTINGS
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.cdr import joint_template
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.internals import sender
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import (
    LATCHED,
    LEVELS,
    Diagnostics,
    declare,
    declare_all,
    load_robot,
    text_of,
)
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import euler_zyx, roll_pitch_yaw, rotation_from_quaternion
from rcl_interfaces.msg import ParameterEvent, SetParametersResult
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

# Without imu/data for longer than this [s] a fall would not be noticed.
BLIND = 0.5
NEW_COMMAND = "standing still until a new cmd_vel: send zero, then a speed"
NOT_KNOWN = "whether the robot had fallen before this node was restarted is not known"
FALLEN = (
    "the robot has fallen: legs stopped; call `get_up` or put it upright, then command it again (cmd_vel zero, then a "
    "speed)"
)


class GaitNode(GuardedNode):
    """Publishes `joint_commands` for joints that exist and move; subscribes to `cmd_vel`, `morphology`, `imu/data`,
    `joint_states`.
    """

    def __init__(self):
        super().__init__("gait")
        self.robot = load_robot(self)
        kind = declare(self, GAIT)
        values = declare_all(self, SETTINGS)
        self.period = declare_command_rate(self)
        commands = declare_all(self, COMMANDS)
        self.timeout, self._waits_for = commands["cmd_vel_timeout"], commands["wait_for"]
        self._kind, self._values = kind, values
        self.gait = gaits.make(kind, values).bind(self.robot)
        self._angles = np.full(self.robot.joint_count, np.nan)  # measured joints, used while the gait needs them
        self.gait.measure_joints(self._angles)  # from now on the gait waits for restored legs
        self._default = commands["velocity"], 0.0, 0.0  # the gait scales it, also later, when a plan has been made
        self._session_state = SessionState(self)
        self.permit, self.falls = self._restored(), FallDetector()
        self._saved = self.permit.state
        if not self._session_state.save(self._saved) and self.permit.by_itself:
            self.permit.by_itself = False
            self.get_logger().warning("without it the robot does not start to walk with `velocity`: send cmd_vel")
        self._faults = Faults()
        self._imu, self._joints = ImuInput(self.robot.imu.rotation, self._faults), JointInput(self.robot, self._faults)
        self._attitude_time = None  # of the last imu/data
        self._heard = None  # time of the last cmd_vel, once there was one
        self._started = time.monotonic()
        self._released = None  # time at which all topics of `wait_for` had a publisher
        self._ticks = 0
        self._refusals = 0
        self._last_refusal = ""
        self._source = source_name(self)  # `servos` follows one source at a time
        self._moving = list(range(self.robot.joint_count))
        self._message = joint_template(self.robot.joint_names, self._source)
        self._trial, self._trial_message = JointTrial(self.robot), self._message
        self._send = sender(self.create_publisher(JointState, "joint_commands", 10))
        self.get_up = GetUpControl(self, self.period)
        self._braces, self.brace = declare(self, BRACE), Brace(self.robot)
        self._still = np.zeros(self.robot.joint_count)
        subscribe(self, ParameterEvent, "morphology", self._on_morphology, LATCHED)
        self.loop = TickLoop(self, self.period, self._tick)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, qos_profile_sensor_data, newest=True)
        self.loop.subscribe(Twist, "cmd_vel", self._on_cmd_vel, 10)
        self.loop.subscribe(JointState, "joint_states", self._on_joints, 1, self._awaits_joints)
        subscribe(self, Pose, "body_pose", self._on_body_pose, 10)
        subscribe(self, WrenchStamped, "payload_wrench", self._on_payload, LATCHED)
        subscribe(self, String, "press_foot", self._on_press_foot, 10)
        subscribe(self, String, "try_joint", self._on_try_joint, 10)
        self._state_publisher = self.create_publisher(DiagnosticStatus, "gait_state", LATCHED)
        self._told = None
        self.create_service(Trigger, "stand", lambda _, answer: self._on_trigger(self.gait.stand, answer))
        self.create_service(Trigger, "sit", lambda _, answer: self._on_trigger(self.gait.sit, answer))
        self.add_on_set_parameters_callback(self._on_parameters)
        self._diagnostics = Diagnostics(self, self.robot.name, self._look, every=self.loop.every)

    def _on_cmd_vel(self, message):
        twist = message.linear.x, message.linear.y, message.angular.z
        try:
            self.gait.command(*twist)
        except HexapodError as error:
            self._refuse(error)
            return
        self._heard = time.monotonic()
        self.permit.command(self._heard, twist)
        self._keep()

    def _on_imu(self, message):
        now, last = time.monotonic(), self._attitude_time
        rotation, force, rate, _, _ = read_imu(self._imu, message, now)
        if rotation is not None:
            self.gait.sense(*roll_pitch_yaw(rotation))
        if rotation is not None or force is not None:
            self._attitude_time = now
        before = self.permit.fallen
        if force is not None:
            self.gait.sense_force(*force)
            if self._braces and last is not None and rate is not None:
                walking = self.permit.may_walk and self.gait.doing == WALKING
                self.brace.sense(min(now - last, BLIND), force, rate, walking)
        self.get_up.sense(now, rotation, rate, force)
        self.permit.see(self.falls.update(now, rotation, force, self.gait.level), self.falls.upright)
        if self.permit.fallen != before:
            if self.permit.fallen:
                self.gait.command(0.0, 0.0, 0.0)
                self.get_logger().error(FALLEN)
                self.get_up.fell()
            self._keep()
            self._diagnostics.publish()

    def _awaits_joints(self):
        return self.gait.awaits_joints or self.get_up.active

    def _on_joints(self, message):
        """Pass measured joints to the gait while it waits for restored legs, and to get_up."""
        if not self._joints.scatter("joint_states", message.name, message.position, self._angles, others=True):
            return
        self.gait.measure_joints(self._angles)
        self.get_up.measure_joints(self._angles)

    def _on_body_pose(self, message):
        o, p = message.orientation, message.position
        try:
            yaw, pitch, roll = euler_zyx(rotation_from_quaternion((o.x, o.y, o.z, o.w)))
            self.gait.lean((p.x, p.y, p.z, roll, pitch, yaw))
        except HexapodError as error:
            self._refuse(error)

    def _on_payload(self, message):
        """Process the weight of the load: a force along -z of the level body."""
        force, torque = message.wrench.force, message.wrench.torque
        load = -force.z / self.robot.gravity, torque.y / self.robot.gravity, -torque.x / self.robot.gravity
        try:
            self.gait.carry(*load)
        except HexapodError as error:
            self._refuse(error)

    def _on_press_foot(self, message):
        """Press the foot of a leg down if the robot walks; a robot that stands or was stopped does not move."""
        try:
            if self.permit.may_walk and self.gait.walking and self.gait.press(message.data):
                self.get_logger().info(f"stops and presses the foot of {message.data} down, then walks on")
        except HexapodError as error:
            self._refuse(error)

    def _on_try_joint(self, message):
        """Start a joint trial if the robot walks; else no joint moves."""
        if self.permit.may_walk and self.gait.walking and self._trial.begin(time.monotonic(), message.data):
            names = [self.robot.joint_names[j] for j in (*self._moving, self._trial.joint)]
            self._trial_message = joint_template(names, self._source)

    def _on_trigger(self, action, answer):
        answer.success, answer.message = True, "ok"
        try:
            action()
        except HexapodError as error:
            answer.success, answer.message = False, str(error)
        return answer

    def _on_parameters(self, parameters):
        given = {parameter.name: parameter.value for parameter in parameters}
        try:
            self._change_gait(given)
        except HexapodError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _change_gait(self, given):
        """Change the kind of gait or its settings while it walks; HexapodError if that is impossible; then nothing
        changes.
        """
        values = {**self._values, **{name: value for name, value in given.items() if name in self._values}}
        kind = given.get("gait", self._kind)
        if kind == self._kind and values == self._values:
            return
        self.gait = gaits.change(self.gait, self._kind, kind, self._values, values)
        self.gait.measure_joints(np.full(self.robot.joint_count, np.nan))
        self._kind, self._values = kind, values

    def _restored(self):
        """Return the walk permit from before a crash; if it was stored but cannot be read, the robot waits for a
        new command.
        """
        stored, now = self._session_state, time.monotonic()
        state = stored.load()
        if state is None and not (stored.unreadable or stored.lost):
            return WalkPermit(pause=self.timeout)
        permit = WalkPermit.restored(state, now, pause=self.timeout)
        if not permit.known:
            self.get_logger().warning(
                f"{NOT_KNOWN} ({stored.problem or 'the stored state has another shape'}): {NEW_COMMAND}"
            )
        elif stored.lost or stored.unreadable:
            permit.by_itself = False
        return permit

    def _keep(self):
        """Store the permit for a respawn."""
        if self._saved != self.permit.state:
            self._saved = self.permit.state
            self._session_state.post(self._saved)

    def _on_morphology(self, message):
        try:
            morphology = Morphology.from_parameters(self.robot, values_of(message.new_parameters))
        except HexapodError as error:
            self._refuse(error)
            return
        self.gait.set_morphology(morphology)
        self.get_up.set_morphology(morphology)
        self.brace.set_morphology(morphology)
        self._moving = morphology.moving_mask.nonzero()[0].tolist()
        self._message = joint_template([self.robot.joint_names[j] for j in self._moving], self._source)
        self._trial.set_morphology(morphology)

    def _refuse(self, error):
        self._refusals += 1
        self._last_refusal = str(error)
        self.get_logger().warning(str(error), throttle_duration_sec=5.0)

    def _tick(self):
        now = time.monotonic()
        due = round((now - self._started) / self.period) - self._ticks
        if due <= 0:  # called early: the times of commands stay on their grid
            return
        self._ticks += due
        self._choose_speed(now)
        self.gait.adopt_plan()
        if self.get_up.active:
            self.brace.stop()
            commands = self.get_up.step(self.period)
        elif not self.permit.may_walk or not self._moving:
            self.brace.stop()
            return  # the servos hold the pose
        elif self.brace.needed:
            commands = self.brace.step(self.period, self.gait.position), self._still
        else:
            # After a stall the gait does not catch up, because the legs would jump.
            commands = self.gait.step(min(due * self.period, 0.25 * self.gait.period))
        if commands is None:
            return
        position, velocity = commands
        moving = self._moving
        positions, velocities, message = position[moving].tolist(), velocity[moving].tolist(), self._message
        tried = self._trial.setpoint(now)
        if tried is not None:
            positions, velocities, message = [*positions, tried], [*velocities, 0.0], self._trial_message
        self._send(message.bytes(time.time_ns(), [*positions, *velocities]))
        if self._told != self._doing:
            self._diagnostics.publish()

    def _choose_speed(self, now):
        if not self.permit.by_itself:
            if self._heard is None or now - self._heard > self.timeout:
                self.gait.command(0.0, 0.0, 0.0)
        elif self._released is None:
            if all(self.count_publishers(topic) for topic in self._waits_for if topic):
                self._released = now
        elif now - self._released > 1.0:
            self.gait.command(*self._default)

    def publish_state(self):
        """Publish the diagnostics and `gait_state` now."""
        self._diagnostics.publish()

    @property
    def _doing(self):
        return "bracing" if self.brace.active else self.gait.doing

    def _look(self):
        level, message, values = self._assess()
        self._told = self._doing
        status = DiagnosticStatus(name="gait", hardware_id=self.robot.name, level=LEVELS[level], message=message)
        status.values = [KeyValue(key=key, value=text_of(value)) for key, value in values.items()]
        self._state_publisher.publish(status)
        return level, message, values

    def _assess(self):
        vx, vy, wz = self.gait.twist
        values = {
            "walking": self.gait.walking and self.permit.may_walk and bool(self._moving),
            "forward [m/s]": vx,
            "left [m/s]": vy,
            "turn [deg/s]": math.degrees(wz),
            "refused messages": self._refusals,
            "last refusal": self._last_refusal,
            OFF_ITS_FEET: self.permit.fallen or bool(self.get_up.doing),
            BRACES: self.brace.active,
            "pushes that it braced against": self.brace.count,
        }
        values.update(self.gait.report() | self._faults.counts())
        if self.permit.waiting or self._attitude_time is not None:
            values["tilt [deg]"] = math.degrees(self.falls.tilt)
        if not self._moving:
            return "error", "no leg is left to walk with: no joint is commanded", values
        if self.get_up.doing:
            return "warn" if self.get_up.active else "error", f"get up: {self.get_up.doing}", values
        if self.permit.fallen:
            return "error", FALLEN, values
        if self.permit.waiting:
            why = "upright after a fall" if self.permit.known else NOT_KNOWN
            return "warn", f"{why}, {NEW_COMMAND}", values
        lost, words = self._session_state.assess(time.monotonic())
        trouble = self._session_state.trouble
        if trouble:
            lost, words = "warn", [f"a restart of this node would lose whether it may walk: {trouble}"]
        if lost != "ok":
            return lost, "; ".join(words), values
        if self._refusals:
            return "warn", f"refused {self._refusals} messages, the last: {self._last_refusal}", values
        doing, faults = self._doing, self._faults.recent(time.monotonic())
        if faults:
            return "warn", f"{doing}; {'; '.join(faults)}", values
        if self.brace.active:
            return "warn", f"{doing}: it was pushed, or ran against something", values
        if "why" in values:
            return "warn", f"{doing}: {values['why']}", values
        blind = self._attitude_time is None or time.monotonic() - self._attitude_time > BLIND
        if blind and self.gait.walking:
            return "warn", f"{doing}; no imu/data: a fall would not be noticed", values
        return "ok", doing, values

    def forget(self):
        """Delete the stored permit, because this node will not be started again."""
        self._session_state.forget()

    def destroy_node(self):
        """End the background work of the gait, then the node."""
        self.gait.close()
        super().destroy_node()


def main(args=None):
    """Run the node."""
    run(GaitNode, args)


if __name__ == "__main__":
    main()
