"""Detects damage and calls `set_morphology`: converts messages for onboard.damage_detection, publishes what it finds.

`detect`: declare calls the service, report only publishes. Declarations of a person have priority: this node never
restores a part that it has not declared missing itself.
"""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, GuardSettings
from hexapod_dynamics.damage.kind import Value
from hexapod_dynamics.detection import DetectorSettings
from hexapod_dynamics.errors import HexapodError, ParameterError
from hexapod_dynamics.nodes.declarations import DeclarationClient
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.damage_detection import DamageDetection
from hexapod_dynamics.parameters.damage_detector import PARAMETERS
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, format_value, make_status
from hexapod_dynamics.ros.tick_loop import TickLoop
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

TRUE, FALSE = format_value(True), format_value(False)
OLDEST = 2.0  # [s] age from which a message is refused; younger ones may be late: they are not used for decisions


class DamageDetectorNode(RobotNode):
    """Subscribes to commands and measurements; publishes `damage_hypotheses`, `press_foot`, `try_joint`; calls
    `set_morphology`.
    """

    def __init__(self) -> None:
        super().__init__("damage_detector", PARAMETERS)
        robot, values = self.robot, self.values
        try:
            settings = make_settings(DetectorSettings, values, guard=make_settings(GuardSettings, values))
            self.detection = DamageDetection(robot, values.read("detect", str), settings, faults=self.faults)
        except HexapodError as error:  # a file of weights beside the robot's: a restart does not help
            raise ParameterError(str(error)) from None
        # What it has declared is taken back when it is intact, also after a crash.
        self.session_state: SessionState = SessionState(self)
        self._stored, self._kept = self.session_state.load(), self.detection.own
        self._names = list(robot.joint_names)
        self._servos = f"{self.get_namespace().rstrip('/')}/servos".lstrip("/")
        self.loop = TickLoop(self, 1.0 / values.read("rate", float), self._update)
        # The torques are first, because a command is processed with the latest torques. Depths: number of messages
        # between two updates.
        self.loop.subscribe(JointState, "feedforward_torques", self._on_torques, 1)
        self.subscribe_commands(
            lambda age, angles, _: self.detection.command(time.monotonic() - age, angles), COMMAND_TIMEOUT
        )
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 40)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, 20)
        self.loop.subscribe(DiagnosticArray, "/diagnostics", self._on_diagnostics, QoSProfile(depth=20))
        self.subscribe_morphology(self._on_morphology)
        self.subscribe_following(self.detection.set_following)
        self.create_subscription(DiagnosticStatus, "gait_state", self._on_gait_state, LATCHED)
        self._publisher = self.create_publisher(DiagnosticArray, "damage_hypotheses", 10)
        self._probes = self.create_publisher(String, "press_foot", 10)
        self._trials = self.create_publisher(String, "try_joint", 10)
        self._declarations = DeclarationClient(self)
        Diagnostics(self, robot.name, lambda: self.detection.state(time.monotonic()))
        self.loop.call_every(0.5, self._publish)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _on_torques(self, message: JointState) -> None:
        if self.find_age("feedforward_torques", message.header.stamp, OLDEST) is None:
            return
        torques = self.joints.arrange_message("feedforward_torques", message.name, message.effort.tolist())
        if torques is not None:
            self.detection.set_torques(torques)

    def _on_measurements(self, message: JointState) -> None:
        for reading in self.read_joints("servos/measurements", message, OLDEST, timed=True):
            self.detection.joint(*reading)

    def _on_imu(self, message: Imu) -> None:
        self.detection.imu(*self.read_imu(message, time.monotonic(), OLDEST))

    def _on_gait_state(self, message: DiagnosticStatus) -> None:
        texts = {pair.key: pair.value for pair in message.values}
        values = {key: text == TRUE if text in (TRUE, FALSE) else text for key, text in texts.items()}
        self.detection.gait(values)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name != self._servos:
                continue
            values = {pair.key: pair.value for pair in status.values}
            age = self.find_age("/diagnostics", message.header.stamp, OLDEST) if "silent" in values else None
            if age is not None:
                masks = (np.isin(self._names, values.get(key, "").split()) for key in ("silent", "torque off", "back"))
                self.detection.bus(time.monotonic() - age, *masks)

    def _on_morphology(self, morphology: Morphology) -> None:
        self.detection.set_morphology(morphology)
        if self._stored is not None:
            self.detection.restore_own(cast("dict[str, Value]", self._stored))
            self._stored = None
        if self.detection.own != self._kept:
            self._kept = self.detection.own
            self.session_state.post(self._kept)
        self._declarations.follow(morphology.parameters())

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _update(self) -> None:
        now = time.monotonic()
        self._declarations.update(now)
        outcome = self.detection.update(now)
        for decision in outcome.report:
            self.get_logger().warning(f"{decision.text}; {decision.action}, not declared")
        for decision in outcome.declare:
            self.get_logger().warning(decision.text)
            self._declarations.declare(decision, now)
        if outcome.declare or outcome.report:
            self._publish()
        if outcome.probe is not None:
            text = f"not sure whether {outcome.probe} has lost its foot: asks the gait to press it down"
            self.get_logger().info(text)
            self._probes.publish(String(data=outcome.probe))
        if outcome.trial is not None:
            self._trials.publish(String(data=outcome.trial))

    def _publish(self) -> None:
        clock = self.get_clock().now()
        offset = 1e-9 * clock.nanoseconds - time.monotonic()
        message = DiagnosticArray()
        message.header.stamp = clock.to_msg()
        for finding in self.detection.detector.findings():
            warns = "warn" if finding.lasting or finding.decided else "ok"
            level = "error" if finding.declared else warns
            words = "declared" if finding.declared else "found" if finding.decided else "suspected"
            texts = {
                "probability": f"{finding.probability:.4f}",
                "evidence": finding.evidence,
                "since": f"{finding.since + offset:.3f}",
            }
            message.status.append(make_status(finding.name, self.robot.name, level, words, texts))
        self._publisher.publish(message)
