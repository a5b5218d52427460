"""Predicts the present state, the path and the torques of the commanded motion, 100 times a second."""

import math
import time

import numpy as np

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.control.automatic_rate import AutomaticRate
from hexapod_dynamics.control.deadline_monitor import DeadlineMonitor
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.commanded_torques import CommandedTorques
from hexapod_dynamics.estimation.observer import Gains, Observer
from hexapod_dynamics.estimation.pose_uncertainty import Spread
from hexapod_dynamics.nodes import predicted_pose
from hexapod_dynamics.nodes.joint_messages import read_imu, time_of
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.nodes.payload import LOOK, PayloadReport
from hexapod_dynamics.nodes.prediction_diagnostics import observer_values, status
from hexapod_dynamics.nodes.prediction_messages import PredictionMessages
from hexapod_dynamics.nodes.shared_parameters import declare_command_period, declare_guard
from hexapod_dynamics.nodes.support_markers import SupportMarkers
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.onboard.imu_input import NOT_GIVEN, ImuInput
from hexapod_dynamics.onboard.joint_input import JointInput
from hexapod_dynamics.parameters.dynamics import PARAMETERS
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, declare_all, load_robot
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import euler_zyx
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool

# An input silent for longer than this [s] is named in the diagnostics.
SILENT = 0.5
# Largest number of publications of `support` a second.
SUPPORT_RATE = 25.0


class DynamicsNode(GuardedNode):
    """Runs the observer under `joint_commands`, `joint_states`, `imu/data` and `morphology`."""

    def __init__(self):
        super().__init__("dynamics")
        robot = load_robot(self)
        self.robot = robot

        values = declare_all(self, PARAMETERS)
        rate, self._path_every = values["rate"], values["path_every"]
        command_period = declare_command_period(self)
        self.observer = Observer(
            robot,
            gains=Gains(joint=values["joint_gain"], tilt=values["tilt_gain"], yaw=values["yaw_gain"]),
            command_period=command_period,
            guard=declare_guard(self, robot),
            command_delay=values["command_delay"],
            timestep=values["timestep"],
            horizon=values["horizon"],
            horizon_period=0.025,
            horizon_timestep=values["horizon_timestep"],
            spread=Spread.of_robot(
                robot, math.radians(values["imu_mounting_error"]), math.radians(values["servo_angle_error"])
            ),
        )
        self._torques = CommandedTorques(self.observer, values["feedforward_rates"]) if values["feedforward"] else None
        self._faults = Faults()
        self._joints = JointInput(robot, self._faults)
        self._imu = ImuInput(robot.imu.rotation, self._faults)
        self._command, self._rates = np.full(robot.joint_count, np.nan), np.full(robot.joint_count, np.nan)
        self._last_received = dict.fromkeys(("joint_commands", "joint_states", "imu/data"), -np.inf)
        self._timed = -np.inf  # time of the last servos/measurements
        self._ticks, self._deadlines = 0, DeadlineMonitor(1.0 / rate)
        self._rate, self._automatic = AutomaticRate(rate), values["automatic_rate"]
        self._support_every = math.ceil(rate / SUPPORT_RATE)
        self._cost = self._worst_cost = 0.0
        self._support = SupportMarkers(self, self.observer)
        self._payload = None  # no payload is estimated if a leg does not have three joints
        if values["payload"] and all(len(leg.joints) == 3 for leg in robot.legs):
            self._payload = PayloadReport(self, self.observer, values["command_delay"], command_period)
        self._warm_up()
        self._session_state = SessionState(self, lasting=False)
        place = self._session_state.load()
        if place is not None:  # after a crash odom continues at the stored position
            numbers = [place.get(name) for name in ("x", "y", "yaw")]
            if all(isinstance(number, float) and math.isfinite(number) for number in numbers):
                self.observer.begin_at(*numbers)
            else:
                self.get_logger().warning(f"the stored position is invalid ({place}): odom starts at zero")
            if self._payload is not None:
                self._payload.restore(place.get("payload"))

        self._messages = PredictionMessages(self, self.observer, values["publish_tf"])
        self.loop = TickLoop(self, 1.0 / rate, self._tick)
        self.loop.subscribe(JointState, "joint_commands", self._on_command, 5)
        # There is a message for each joint that was read; several arrive at once after this node was busy.
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 20)
        self.loop.subscribe(JointState, "joint_states", self._on_joints, 5, needed=self._untimed)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, qos_profile_sensor_data)
        subscribe(self, ParameterEvent, "morphology", self._on_morphology, LATCHED)
        subscribe(self, Bool, "servos/following", self._on_following, LATCHED)
        self._diagnostics = Diagnostics(self, robot.name, self._diagnose, every=self.loop.every)
        if self._payload is not None:
            self.loop.every(LOOK, self._payload.look)
            subscribe(self, DiagnosticStatus, "gait_state", self._payload.hear_gait, LATCHED)

    def _warm_up(self):
        """Compile and load everything before the first message is received."""
        self.observer.warm_up()
        if self._torques is not None:
            self._torques.warm_up()
        self._support.warm_up()

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _on_command(self, message):
        topic, joints = "joint_commands", self._joints
        at = time_of(topic, message.header.stamp, self._faults)
        if at is None:
            return
        names, positions, velocities = message.name, message.position.tolist(), message.velocity.tolist()
        refusal = joints.command_refusal(names, positions, velocities)  # by the same rule as in `servos`
        if refusal:
            self._faults.add(topic, f"{topic} is refused: {refusal}")
            return
        self._last_received[topic] = time.monotonic()
        joints.scatter(topic, names, positions, self._command)
        self._rates[:] = 0.0
        if velocities:
            joints.scatter(topic, names, velocities, self._rates)
        self.observer.command(at, self._command, self._rates)
        if self._payload is not None:
            self._payload.take_command(at)
        if self._torques is not None:
            self._torques.note_command()

    def _on_measurements(self, message):
        """Process joints that were read at the time of the stamp."""
        self._timed = time.monotonic()
        self._measure("servos/measurements", message)

    def _untimed(self):
        """Whether no driver publishes the time of each reading; then the stamp is the time of measurement of all
        joints.
        """
        return time.monotonic() - self._timed > SILENT

    def _on_joints(self, message):
        self._measure("joint_states", message)

    def _measure(self, topic, message):
        names, angles = message.name, message.position.tolist()
        at = time_of(topic, message.header.stamp, self._faults)
        if at is None or not self._joints.as_many(topic, names, angles):
            return
        self._last_received["joint_states"] = time.monotonic()
        for joint, angle in self._joints.readings(topic, names, angles):
            self.observer.measure_joint(at, joint, angle)
            if self._payload is not None:
                self._payload.estimator.measure_joint(at, joint, angle)

    def _on_imu(self, message):
        at = time_of("imu/data", message.header.stamp, self._faults)
        if at is None:
            return
        if message.orientation_covariance[0] == NOT_GIVEN:
            self._faults.add("imu/data", "imu/data carries no orientation yet (covariance -1)")
        reading = read_imu(self._imu, message, time.monotonic())
        if reading.rotation is None:
            return
        self._last_received["imu/data"] = time.monotonic()
        self.observer.measure_attitude(at, reading.rotation)
        if reading.force is not None and reading.rate is not None:
            self.observer.measure_motion(at, list(reading.force), list(reading.rate))
        if self._payload is not None:
            self._payload.estimator.measure_up(reading.rotation[2])

    def _on_morphology(self, message):
        try:
            self.observer.set_morphology(values_of(message.new_parameters))
        except HexapodError as error:
            self._faults.add("morphology", f"morphology: {error}")
            return
        self._messages.name_joints()
        if self._payload is not None:
            self._payload.estimator.set_morphology(self.observer.morphology)

    def _on_following(self, message):
        self.observer.set_following(message.data)
        if self._payload is not None:
            self._payload.set_following(message.data)

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _tick(self):
        begin = time.monotonic()
        self._deadlines.call(begin)
        observer = self.observer
        try:
            if not observer.advance(begin):
                return
            try:
                torques = self._needed_torques(begin)
            except HexapodError as error:  # the prediction continues without them
                self._faults.add("torques", f"no feed-forward torques: {error}")
                torques = None
            due = self._ticks % self._path_every == 0 and self._messages.path_wanted(begin)
            ahead = observer.look_ahead(begin) if due else None
        except HexapodError as error:
            self._faults.add("model", str(error))
            observer.restart()
            return
        cost = time.monotonic() - begin
        self._cost += 0.01 * (cost - self._cost)
        self._worst_cost = max(self._worst_cost, cost)
        self._ticks += 1
        self._messages.publish(torques, ahead)
        if self._ticks % self._support_every == 0 and self._support.wanted:
            self._support.publish(self._messages.stamp)
        if self._automatic:
            self._adapt(begin)

    def _adapt(self, now):
        """Predict at half the rate while this machine cannot hold it."""
        before = self._rate.rate
        message = self._rate.call(now)
        if self._rate.rate != before:
            self.loop.period = 1.0 / self._rate.rate
            self._deadlines.set_period(self.loop.period)
        if message:
            self.get_logger().warning(f"predictions: {message}")

    def _needed_torques(self, now):
        """Return the torques for the commanded motion; None while there is no command."""
        last = self._last_received["joint_commands"]
        if self._torques is None or last == -np.inf:
            return None
        if now - last > SILENT:
            self._torques.hold()
        return self._torques.compute()

    def _predicted_pose(self, now):
        """Return the pose as diagnostic values, while it is predicted, for displays that show it once a second."""
        observer = self.observer
        if not observer.started or now - observer.time > SILENT:
            return {}
        return predicted_pose.values(self._messages.seconds, observer.position, observer.rotation)

    def forget(self):
        """Delete the stored position, because this node will not be started again."""
        self._session_state.forget()

    def _diagnose(self):
        now, observer = time.monotonic(), self.observer
        if observer.started:
            x, y, _ = observer.position.tolist()
            stored = {"x": x, "y": y, "yaw": float(euler_zyx(observer.rotation)[0])}
            if self._payload is not None and self._payload.stored() is not None:
                stored["payload"] = self._payload.stored()
            self._session_state.post(stored)
        values = {
            "morphology": observer.morphology.describe(),
            "mean time of a prediction [ms]": 1e3 * self._cost,
            "worst [ms]": 1e3 * self._worst_cost,
            "predictions left out": self._deadlines.missed,
            "predictions a second": self._rate.rate,
        }
        values |= observer_values(observer) | self._predicted_pose(now) | self._faults.counts()
        if self._payload is not None:
            values["payload"] = self._payload.assess()[1]
        self._worst_cost = 0.0
        silent = [topic for topic, at in self._last_received.items() if now - at > SILENT]
        late = [self._deadlines.assess("predictions")]
        if self._rate.halved:
            late.append(f"predictions: {self._rate.assess(now)}")
        level, message = status(observer, silent, [text for text in late if text], self._faults.recent(now))
        return level, message, values


def main(args=None):
    """Run the node."""
    run(DynamicsNode, args)


if __name__ == "__main__":
    main()
