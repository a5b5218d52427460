"""Detects damage and calls `set_morphology`: converts messages, calls DamageDetector, publishes its decisions.

`detect`: declare calls the service, report only publishes. Declarations of a person have priority: this node never
restores a part that it has not declared missing itself.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation import DamageDetector, DetectorSettings
from hexapod_dynamics.gait.interface import BRACES, OFF_ITS_FEET, PRESSED_FOOT, THROWN_BACK
from hexapod_dynamics.nodes.declarations import Declarations
from hexapod_dynamics.nodes.joint_messages import read_imu
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.onboard.imu_input import ImuInput
from hexapod_dynamics.onboard.joint_input import JointInput
from hexapod_dynamics.parameters.damage_detector import PARAMETERS, SETTINGS
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import (
    LATCHED,
    LEVELS,
    Diagnostics,
    declare_all,
    load_robot,
    stamp_seconds,
    text_of,
)
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.ros.tick_loop import TickLoop
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, String

# Stamps further back than this [s], or in the future, come from another clock: the time of arrival is used instead.
# Younger stamps are used as they are: late readings are not used for decisions.
OLDEST = 2.0
# If `update` is called later than this [s], the machine was busy, and messages may have been late or lost.
STALLED = 0.4
# Diagnostics tell a new declaration for this long [s].
NEW = 10.0
# A decision that is only reported is logged again if it comes back after this time [s].
TOLD = 10.0
SENSOR = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)


class DamageDetectorNode(GuardedNode):
    """Subscribes to commands and measurements; publishes `damage_hypotheses`, `press_foot`, `try_joint`; calls
    `set_morphology`.
    """

    def __init__(self):
        super().__init__("damage_detector")
        self.robot = load_robot(self)
        values = declare_all(self, PARAMETERS)
        self.mode, rate = values["detect"], values["rate"]
        settings = DetectorSettings(**{parameter.name: values[parameter.name] for parameter in SETTINGS})
        self.detector = DamageDetector(self.robot, settings, self._executor(values["workers"]))
        self.detector.warm_up()
        self._looked = None  # time of the last update
        self._index = {name: j for j, name in enumerate(self.robot.joint_names)}
        self._n = self.robot.joint_count
        self._faults = Faults()
        self._imu, self._joints = ImuInput(self.robot.imu.rotation, self._faults), JointInput(self.robot, self._faults)
        self._command, self._angles, self._torques = (np.full(self._n, np.nan) for _ in range(3))
        self._servos = f"{self.get_namespace().rstrip('/')}/servos".lstrip("/")
        self.loop = TickLoop(self, 1.0 / rate, self._update)
        # The torques are first, because a command is processed with the latest torques. Depths: number of messages
        # between two updates.
        self.loop.subscribe(JointState, "feedforward_torques", self._on_torques, 1)
        self.loop.subscribe(JointState, "joint_commands", self._on_command, 20)
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 40)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, SENSOR)
        subscribe(self, DiagnosticArray, "/diagnostics", self._on_diagnostics, 20)
        subscribe(self, ParameterEvent, "morphology", self._on_morphology, LATCHED)
        subscribe(self, Bool, "servos/following", lambda m: self.detector.follow(m.data), LATCHED)
        subscribe(self, DiagnosticStatus, "gait_state", self._on_gait_state, LATCHED)
        self._told = {}  # decisions that are reported only: {key: monotonic time [s] of the last one}
        self._pressed = None  # the leg whose foot the gait presses down
        # the robot lies after a fall, or is getting up: feet without load are no evidence then
        self._off_its_feet = False
        self._thrown_back = self._braces = False
        self._publisher = self.create_publisher(DiagnosticArray, "damage_hypotheses", 10)
        self._presses = self.create_publisher(String, "press_foot", 10)
        self._trials = self.create_publisher(String, "try_joint", 10)
        self._declarations = Declarations(self)
        self._diagnostics = Diagnostics(self, self.robot.name, self._look, every=self.loop.every)
        self.loop.every(0.5, self._publish)

    def _executor(self, workers):
        # This node has a lower priority than the nodes that move the robot.
        return ThreadPoolExecutor(
            workers, "bank", lambda: os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        )

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _time_of(self, stamp):
        """Monotonic time of a message's stamp."""
        now = time.monotonic()
        age = time.time() - stamp_seconds(stamp)
        return now - age if 0.0 <= age <= OLDEST else now

    def _on_command(self, message):
        if self._joints.scatter("joint_commands", message.name, message.position, self._command):
            self.detector.command(self._time_of(message.header.stamp), self._command, np.nan_to_num(self._torques))

    def _on_torques(self, message):
        self._joints.scatter("feedforward_torques", message.name, message.effort, self._torques)

    def _on_measurements(self, message):
        if self._joints.scatter("servos/measurements", message.name, message.position, self._angles):
            self.detector.measure_joints(self._time_of(message.header.stamp), self._angles)

    def _on_imu(self, message):
        rotation = read_imu(self._imu, message, time.monotonic()).rotation
        if rotation is not None:
            self.detector.measure_attitude(self._time_of(message.header.stamp), rotation)

    def _on_gait_state(self, message):
        values = {pair.key: pair.value for pair in message.values}
        self._off_its_feet = values.get(OFF_ITS_FEET) == text_of(True)
        self._thrown_back = values.get(THROWN_BACK) == text_of(True)
        self._braces = values.get(BRACES) == text_of(True)
        leg = values.get(PRESSED_FOOT)
        if leg is not None and leg != self._pressed:
            self.detector.pressed(time.monotonic(), leg)
        self._pressed = leg

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name == self._servos:
                values = {pair.key: pair.value for pair in status.values}
                if "silent" in values:
                    self.detector.bus(
                        self._time_of(message.header.stamp),
                        *(self._mask(values.get(key, "")) for key in ("silent", "torque off", "back")),
                    )

    def _mask(self, names):
        mask = np.zeros(self._n, bool)
        mask[[self._index[name] for name in names.split() if name in self._index]] = True
        return mask

    def _on_morphology(self, message):
        angles = dict(zip(self.robot.joint_names, np.nan_to_num(self._angles).tolist(), strict=True))
        try:
            values = values_of(message.new_parameters)
            self.detector.set_morphology(Morphology.from_parameters(self.robot, values, angles))
            self._declarations.follow(values)
        except HexapodError as error:
            self._faults.add("morphology", f"morphology: {error}")

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _update(self):
        now = time.monotonic()
        if self._looked is not None and now - self._looked > STALLED:
            self.detector.disturb(now)
        if self._off_its_feet:
            self.detector.off_its_feet(now)
        if self._thrown_back:
            self.detector.thrown_back(now)
        if self._braces:
            self.detector.braces(now)
        self._looked = now
        self._declarations.look(now)
        try:
            decisions = self.detector.update(now)
        except HexapodError as error:
            self._faults.add("model", str(error))
            self.detector.restart()
            return
        for decision in decisions:
            if decision.action == "suspect" or self.mode == "report":
                if decision.key not in self._told:  # it is repeated while its evidence lasts
                    self.get_logger().warning(f"{decision.text}; {decision.action}, not declared")
                self._told[decision.key] = now
                continue
            self.get_logger().warning(decision.text)
            self._declarations.declare(decision, now)
        self._told = {key: at for key, at in self._told.items() if now - at < TOLD}
        if decisions:
            self._publish()
        leg = self.detector.press(now) if self.mode == "declare" else None
        if leg is not None:
            self.get_logger().info(f"not sure whether {leg} has lost its foot: asks the gait to press it down")
            self._presses.publish(String(data=leg))
        joint = self.detector.tries(now) if self.mode == "declare" else None
        if joint is not None:
            self._trials.publish(String(data=joint))

    def _publish(self):
        now, clock = time.monotonic(), 1e-9 * self.get_clock().now().nanoseconds
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        for finding in self.detector.findings():
            message.status.append(
                DiagnosticStatus(
                    name=finding.name,
                    level=LEVELS[
                        "error" if finding.declared else "warn" if finding.lasting or finding.decided else "ok"
                    ],
                    message="declared" if finding.declared else "found" if finding.decided else "suspected",
                    hardware_id=self.robot.name,
                    values=[
                        KeyValue(key="probability", value=f"{finding.probability:.4f}"),
                        KeyValue(key="evidence", value=finding.evidence),
                        KeyValue(key="since", value=f"{clock - (now - finding.since):.3f}"),
                    ],
                )
            )
        self._publisher.publish(message)

    def _look(self):
        now, detector = time.monotonic(), self.detector
        lacking = detector.cannot_know(now)
        findings = detector.findings()
        found = [one.name for one in findings if one.decided and not one.declared]
        values = {
            "detect": self.mode,
            "declared by this node": ", ".join(detector.decisions.own) or "nothing",
            "suspicion": detector.suspicion,
            "below the threshold of a warning": ", ".join(
                f"{one.name} (p = {one.probability:.2f})" for one in findings if not (one.declared or one.lasting)
            )
            or "nothing",
            "banks simulated": detector.banks,
            "left out, because they diverged": ", ".join(
                f"{name} ({count} times)" for name, count in detector.diverged.items()
            )
            or "none",
            "last bank [s]": detector.bank_time,
            "probes asked for": detector.probes,
            "cannot tell whether it has lost its foot": ": ".join(detector.cannot_tell(now) or ("none",)),
            "identified lag of the servos [ms]": 1e3 * detector.servos.lag,
            "identified dead zone of the servos [deg]": float(np.degrees(detector.servos.zone)),
            "servos identified": "yes" if detector.servos.identified else "not yet: the robot has to walk, intact",
        } | self._faults.counts()
        warnings = [*lacking, *self._faults.recent(now)]
        if self.mode == "report" and found:
            warnings.insert(0, f"found, not declared (detect:=report): {', '.join(found)}")
        if warnings:
            return "warn", "; ".join(warnings), values
        declared = [one.name for one in findings if one.declared and now - one.since < NEW]
        if declared:
            return "ok", f"declared: {', '.join(declared)}", values
        lasting = [one.name for one in findings if one.lasting]
        if lasting:
            return "warn", f"suspects: {', '.join(lasting)}", values
        return "ok", ", ".join(one.name for one in findings if one.declared) or "nothing found", values

    def close(self):
        """End the bank's threads."""
        self.detector.executor.shutdown(wait=False, cancel_futures=True)


def main(args=None):
    """Run the node."""
    run(DamageDetectorNode, args)


if __name__ == "__main__":
    main()
