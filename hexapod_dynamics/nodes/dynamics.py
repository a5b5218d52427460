"""Predicts the present state, the path and the torques of the commanded motion, 100 times a second
(onboard.prediction).
"""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.control.deadlines import AutomaticRate, DeadlineMonitor
from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, GuardSettings
from hexapod_dynamics.nodes.messages import format_pose
from hexapod_dynamics.nodes.prediction_messages import PayloadReport, PredictionMessages
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.inputs import NOT_GIVEN
from hexapod_dynamics.onboard.prediction import SILENT_AFTER, Prediction, PredictionSettings
from hexapod_dynamics.parameters.dynamics import PARAMETERS
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, check_topic, stamp_seconds
from hexapod_dynamics.ros.tick_loop import TickLoop
from sensor_msgs.msg import Imu, JointState


class DynamicsNode(RobotNode):
    """Feeds a Prediction with `joint_commands`, `joint_states`, `imu/data` and `morphology`, and publishes it."""

    def __init__(self) -> None:
        super().__init__("dynamics", PARAMETERS)
        robot, values = self.robot, self.values
        settings = make_settings(PredictionSettings, values, guard=make_settings(GuardSettings, values))
        self.prediction = Prediction(robot, settings, self.faults)
        self._timed = -math.inf  # time of the last servos/measurements
        self._command_age = 0.0  # [s] of the newest command that this tick accepted; 0: none
        rate, period = values.read("rate", float), values.read("command_period", float)
        self._ticks, self._period, self._deadlines = 0, 1.0 / rate, DeadlineMonitor(1.0 / rate)
        self._rate = AutomaticRate(rate)
        self._path_every = values.read("path_every", int)
        self._support_every = math.ceil(rate / 25.0)  # at most 25 a second
        self._cost = self._worst_cost = 0.0
        self.session_state: SessionState = SessionState(self, lasting=False)
        place = self.session_state.load()
        if place is not None:  # after a crash odom continues at the stored position
            if problem := self.prediction.restore(place):
                self.get_logger().warning(problem)
        publish_tf, odom = values.read("publish_tf", bool), values.read("odom_topic", str)
        self._messages = PredictionMessages(self, self.prediction.observer, publish_tf, odom)
        # In every tick where the command period is long: the queues hold all samples of an IMU at 250 Hz even if two
        # ticks are late.
        poll_period = period if period <= 0.02 else 0.0
        self._longest = max(1.0 / rate, poll_period)  # [s] between two predictions of which only the torques are used
        self.loop = TickLoop(self, 1.0 / rate, self._tick, poll_period=poll_period)
        self.subscribe_commands(self._on_command, COMMAND_TIMEOUT)
        # Several arrive at once after this node was busy.
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 20)
        # While no driver publishes the time of each reading, the stamp is the time of measurement of all joints.
        self.loop.subscribe(JointState, "joint_states", partial(self._measure, "joint_states"), 10, self._untimed)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, 20)
        self.subscribe_morphology(self._on_morphology)
        self.subscribe_following(self.prediction.set_following)
        self._diagnostics = Diagnostics(self, robot.name, self._diagnose)
        if self.prediction.payload is not None:
            report = PayloadReport(self, self.prediction.payload)
            self.loop.call_every(0.05, report.update)  # so that the computation is not in every tick
            self.create_subscription(DiagnosticStatus, "gait_state", report.read_gait_state, LATCHED)
        if odom:  # its publisher is created while the robot walks
            check_topic(self, "odom_topic", odom, ("predicted_state", "joint_states"))

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _on_command(self, age: float, angles: np.ndarray, rates: np.ndarray) -> None:
        self._command_age, now = age, time.monotonic()
        self.prediction.command(now - age, angles, rates, now)

    def _on_measurements(self, message: JointState) -> None:
        self._timed = time.monotonic()
        self._measure("servos/measurements", message, timed=True)

    def _untimed(self) -> bool:
        return time.monotonic() - self._timed > SILENT_AFTER

    def _measure(self, topic: str, message: JointState, *, timed: bool = False) -> None:
        for at, joint, angle in self.read_joints(topic, message, timed=timed):
            self.prediction.joint(at, joint, angle, time.monotonic())

    def _on_imu(self, message: Imu) -> None:
        now = time.monotonic()
        if message.orientation_covariance[0] == NOT_GIVEN:
            self.faults.add("imu/data", "imu/data carries no orientation yet (covariance -1)")
        self.prediction.imu(*self.read_imu(message, now), now)

    def _on_morphology(self, morphology: Morphology) -> None:
        self.prediction.set_morphology(morphology)
        self._messages.name_joints()

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        begin = time.monotonic()
        self._deadlines.call(begin)
        # The last prediction before the next command is 6 ms before it, so that it has the torques.
        if self._command_age:
            wanted = (self.prediction.settings.command_period - 0.006) % self._period
            self.loop.align(self._command_age, wanted, gain=0.02)  # at most 1 % slower, whatever the delays
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
        if self._ticks % self._support_every == 0:
            self._messages.publish_support()
        self._adapt(begin)

    def _adapt(self, now: float) -> None:
        """Predict once a command while only the torques are used, and at half the rate while this machine cannot hold
        it.
        """
        # Where once a command is the full rate, nothing is saved while nobody watches.
        watched = self._messages.has_state_subscribers(now) or self._longest <= 1.0 / self._rate.full
        if not watched:
            self._rate.pause(now)
        elif self.values["automatic_rate"] and (message := self._rate.call(now)):
            self.get_logger().warning(f"predictions: {message}")
        period = max(1.0 / self._rate.rate, 0.0 if watched else self._longest)
        if period != self._period:
            self._period = self.loop.period = period
            self._deadlines.set_period(period)

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        now, observer = time.monotonic(), self.prediction.observer
        stored = self.prediction.get_stored()
        if stored is not None:
            self.session_state.post(stored)
        late = [self._deadlines.assess("predictions")]
        if self._rate.halved:
            late.append(f"predictions: {self._rate.assess(now)}")
        level, message, values = self.prediction.state(now, [text for text in late if text])
        values |= {
            "mean time of a prediction [ms]": 1e3 * self._cost,
            "worst [ms]": 1e3 * self._worst_cost,
            "predictions left out": self._deadlines.missed,
            "predictions a second": round(1.0 / self._period, 3),
        }
        if observer.started and now - observer.time <= SILENT_AFTER:  # for displays that show the pose once a second
            values |= format_pose(stamp_seconds(self._messages.stamp), observer.position, observer.rotation)
        self._worst_cost = 0.0
        return level, message, values
