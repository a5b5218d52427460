"""Predicts the present state, the path and the torques of the commanded motion, 100 times a second
(onboard.prediction).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.control.deadlines import AutomaticRate, DeadlineMonitor
from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.messages import NOT_GIVEN, age_of, pose_values, read_imu, stamp_to_monotonic
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.nodes.prediction_messages import PayloadReport, PredictionMessages
from hexapod_dynamics.nodes.support_markers import SupportMarkers
from hexapod_dynamics.onboard.inputs import ImuInput, JointInput
from hexapod_dynamics.onboard.prediction import SILENT, Prediction, PredictionSettings
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD
from hexapod_dynamics.parameters.dynamics import PARAMETERS
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import COMMANDS, LATCHED, Diagnostics, declare, declare_all, load_robot
from hexapod_dynamics.ros.tick_loop import TickLoop
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool

OF_PREDICTION = PredictionSettings.__dataclass_fields__.keys()


class DynamicsNode(GuardedNode):
    """Feeds a Prediction with `joint_commands`, `joint_states`, `imu/data` and `morphology`, and publishes it."""

    def __init__(self) -> None:
        super().__init__("dynamics")
        robot = self.robot = load_robot(self)
        values = declare_all(self, PARAMETERS)
        given = {name: value for name, value in values.items() if name in OF_PREDICTION}
        period, guard = declare(self, COMMAND_PERIOD), GuardSettings(**declare_all(self, GUARD, robot))
        self.prediction = Prediction(robot, PredictionSettings(**given, command_period=period, guard=guard))
        self._faults = self.prediction.faults
        self._imu, self._joints = ImuInput(robot.imu.rotation, self._faults), JointInput(robot, self._faults)
        self._timed = -math.inf  # time of the last servos/measurements
        self._command_age = 0.0  # [s] of the newest command that this tick accepted; 0: none
        rate, self._path_every = values["rate"], values["path_every"]
        self._ticks, self._deadlines = 0, DeadlineMonitor(1.0 / rate)
        self._rate, self._automatic = AutomaticRate(rate), values["automatic_rate"]
        self._support_every = math.ceil(rate / 25.0)  # at most 25 a second
        self._cost = self._worst_cost = 0.0
        self._support = SupportMarkers(self, self.prediction.observer)
        self._support.update()
        self.session_state: SessionState = SessionState(self, lasting=False)
        place = self.session_state.load()
        if place is not None:  # after a crash odom continues at the stored position
            if problem := self.prediction.restore(place):
                self.get_logger().warning(problem)
        self._messages = PredictionMessages(self, self.prediction.observer, values["publish_tf"], values["odom_topic"])
        # In every tick where the command period is long: the queues hold all samples of an IMU at 250 Hz even if two
        # ticks are late.
        self.loop = TickLoop(self, 1.0 / rate, self._tick, poll_period=period if period <= 0.02 else 0.0)
        self.loop.subscribe(JointState, "joint_commands", self._on_command, COMMANDS)
        # Several arrive at once after this node was busy.
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 20)
        self.loop.subscribe(JointState, "joint_states", self._on_joints, 10, needed=self._untimed)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, 20)
        self.create_subscription(ParameterEvent, "morphology", self._on_morphology, LATCHED)
        self.create_subscription(Bool, "servos/following", lambda m: self.prediction.set_following(m.data), LATCHED)
        self._diagnostics = Diagnostics(self, robot.name, self._diagnose, every=self.loop.every)
        if self.prediction.payload is not None:
            report = PayloadReport(self, self.prediction.payload)
            self.loop.every(0.05, report.update)  # so that the computation is not in every tick
            self.create_subscription(DiagnosticStatus, "gait_state", report.on_gait_state, LATCHED)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _on_command(self, message: JointState) -> None:
        topic, joints = "joint_commands", self._joints
        at = stamp_to_monotonic(topic, message.header.stamp, self._faults)
        if at is None:
            return
        names, positions, velocities = message.name, message.position.tolist(), message.velocity.tolist()
        refusal = joints.command_refusal(names, positions, velocities)  # by the same rule as in `servos`
        if refusal:
            self._faults.add(topic, f"{topic} is refused: {refusal}")
            return
        self._command_age = age_of(message.header.stamp)
        command = joints.row(topic, names, positions)
        rates = joints.row(topic, names, velocities) if velocities else np.zeros(len(command))
        self.prediction.command(at, command, rates, time.monotonic())

    def _on_measurements(self, message: JointState) -> None:
        """Process joints that were read at the stamp, or before it by the time in `effort` [s]."""
        self._timed = time.monotonic()
        self._measure("servos/measurements", message, message.effort.tolist())

    def _untimed(self) -> bool:
        """Whether no driver publishes the time of each reading; then the stamp is the time of measurement of all
        joints.
        """
        return time.monotonic() - self._timed > SILENT

    def _on_joints(self, message: JointState) -> None:
        self._measure("joint_states", message, ())

    def _measure(self, topic: str, message: JointState, ages: Sequence[float]) -> None:
        at, now = stamp_to_monotonic(topic, message.header.stamp, self._faults), time.monotonic()
        if at is not None:
            readings = self._joints.read(topic, message.name, message.position.tolist(), ages, measured=True)
            for joint, angle, age in readings or ():
                self.prediction.joint(at - age, joint, angle, now)

    def _on_imu(self, message: Imu) -> None:
        at, now = stamp_to_monotonic("imu/data", message.header.stamp, self._faults), time.monotonic()
        if at is None:
            return
        if message.orientation_covariance[0] == NOT_GIVEN:
            self._faults.add("imu/data", "imu/data carries no orientation yet (covariance -1)")
        self.prediction.imu(at, read_imu(self._imu, message, now), now)

    def _on_morphology(self, message: ParameterEvent) -> None:
        try:
            self.prediction.set_morphology(values_of(message.new_parameters))
        except HexapodError as error:
            self._faults.add("morphology", f"morphology: {error}")
            return
        self._messages.name_joints()

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        begin = time.monotonic()
        self._deadlines.call(begin)
        if self._command_age:  # so that the servos have its torques before the next command
            self.loop.align(self._command_age, 0.004, gain=0.02)  # at most 1 % slower, whatever the delays
            self._command_age = 0.0
        predicted, torques = self.prediction.advance(begin)
        if not predicted:
            return
        due = self._ticks % self._path_every == 0 and self._messages.path_wanted(begin)
        ahead = self.prediction.predict_path(begin) if due else None
        cost = time.monotonic() - begin
        self._cost += 0.01 * (cost - self._cost)
        self._worst_cost = max(self._worst_cost, cost)
        self._ticks += 1
        self._messages.publish(torques, ahead)
        if self._ticks % self._support_every == 0 and self._support.wanted:
            self._support.publish(self._messages.stamp)
        if self._automatic:
            self._adapt(begin)

    def _adapt(self, now: float) -> None:
        """Predict at half the rate while this machine cannot hold it."""
        before = self._rate.rate
        message = self._rate.call(now)
        if self._rate.rate != before:
            self.loop.period = 1.0 / self._rate.rate
            self._deadlines.set_period(self.loop.period)
        if message:
            self.get_logger().warning(f"predictions: {message}")

    def _predicted_pose(self, now: float) -> dict[str, str]:
        """Return the pose as diagnostic values, while it is predicted, for displays that show it once a second."""
        observer = self.prediction.observer
        if not observer.started or now - observer.time > SILENT:
            return {}
        return pose_values(self._messages.seconds, observer.position, observer.rotation)

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        now = time.monotonic()
        stored = self.prediction.stored()
        if stored is not None:
            self.session_state.post(stored)
        late = [self._deadlines.assess("predictions")]
        if self._rate.halved:
            late.append(f"predictions: {self._rate.assess(now)}")
        level, message, values = self.prediction.state(now, [text for text in late if text])
        costs = {
            "mean time of a prediction [ms]": 1e3 * self._cost,
            "worst [ms]": 1e3 * self._worst_cost,
            "predictions left out": self._deadlines.missed,
            "predictions a second": self._rate.rate,
        }
        self._worst_cost = 0.0
        return level, message, values | costs | self._predicted_pose(now)
