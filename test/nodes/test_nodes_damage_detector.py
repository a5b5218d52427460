"""damage_detector and damage_manager in processes of their own, fed by hand with a standing robot whose leg goes."""

import time
import uuid
from types import SimpleNamespace

import numpy as np
import pytest
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.nodes.messages import fill_rotation, fill_vector
from hexapod_dynamics.nodes.walk_status import BUSY
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Predictor
from sensor_msgs.msg import Imu, JointState

ROBOT = Robot.jethexa()
NAMES = list(ROBOT.joint_names)
RM = [NAMES[j] for j in ROBOT.leg_joints("RM")]
LF = [NAMES[j] for j in ROBOT.leg_joints("LF")]
START = 120  # [s] a first start may compile the model


class Feed:
    """What a standing robot publishes, 25 times a second; `mute` joints do not answer, `back` do though gone."""

    def __init__(self, probe):
        node = self.node = probe.node
        standing = TripodGait().bind(ROBOT).position.copy()
        model = Predictor(ROBOT)
        model.set_state(np.zeros(3), np.eye(3), standing, np.zeros(24))
        model.position[2] = model.resting_height()
        model.advance(1.0, standing, 0.02)
        self.angles = model.q.copy()
        self.mute, self.back = set(), []
        self.command = JointState(name=NAMES, position=standing.tolist())
        self.imu = Imu()
        chip = model.rotation @ ROBOT.imu.rotation
        fill_rotation(self.imu.orientation, chip)
        fill_vector(self.imu.linear_acceleration, (chip.T @ [0.0, 0.0, 9.81]).tolist())
        self.publishers = {
            topic: node.create_publisher(kind, topic, 10)
            for topic, kind in (
                ("/t/joint_commands", JointState),
                ("/t/servos/measurements", JointState),
                ("/t/imu/data", Imu),
                ("/diagnostics", DiagnosticArray),
            )
        }
        node.create_timer(0.04, self._publish)
        node.create_timer(0.3, self._report)

    def _publish(self):
        stamp = self.node.get_clock().now().to_msg()
        there = [j for j, name in enumerate(NAMES) if name not in self.mute]
        measured = JointState(name=[NAMES[j] for j in there], position=self.angles[there].tolist())
        for topic, message in (
            ("/t/joint_commands", self.command),
            ("/t/servos/measurements", measured),
            ("/t/imu/data", self.imu),
        ):
            message.header.stamp = stamp
            self.publishers[topic].publish(message)

    def _report(self):
        values = {"silent": " ".join(self.mute), "torque off": "", "back": " ".join(self.back)}
        pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
        message = DiagnosticArray(status=[DiagnosticStatus(name="t/servos", values=pairs)])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self.publishers["/diagnostics"].publish(message)


@pytest.fixture(scope="module")
def robot(probe):
    hypotheses = probe.hear(DiagnosticArray, "/t/damage_hypotheses", keep=20)
    declared = probe.morphology("/t/morphology")
    feed = Feed(probe)
    with Process.node("damage_manager", "-r", "__ns:=/t") as manager:
        with Process.node("damage_detector", "-r", "__ns:=/t", "-p", f"session:={uuid.uuid4().hex}") as detector:
            wait_until(lambda: hypotheses and declared(), START, lambda: manager.output + detector.output)
            time.sleep(3.0)  # every servo has been heard
            yield SimpleNamespace(probe=probe, declared=declared, feed=feed, detector=detector, manager=manager)
            assert detector.interrupt()[1] == 0 and "Traceback" not in detector.output


def test_a_leg_whose_servos_fall_silent_is_declared_missing_and_explained(robot):
    probe, feed, detector = robot.probe, robot.feed, robot.detector
    assert robot.declared()["legs.RM"] and not probe.last("/t/damage_hypotheses").status
    diagnostics = probe.hear(DiagnosticArray, "/diagnostics", keep=1000)
    feed.mute = set(RM)
    wait_until(lambda: not robot.declared()["legs.RM"], 20, lambda: detector.output)
    decided = len(diagnostics)
    assert all(robot.declared()[f"legs.{leg}"] for leg in ROBOT.leg_names if leg != "RM")
    status = wait_until(lambda: probe.last("/t/damage_hypotheses").status, 5, "it is published")[0]
    values = {pair.key: pair.value for pair in status.values}
    assert status.name == "RM missing" and float(values["probability"]) > 0.98
    assert "no answer from its three servos" in values["evidence"]
    assert abs(float(values["since"]) - time.time()) < 60.0
    assert "RM missing: no answer from its three servos for" in detector.output

    def reports(first=0):
        """What it says of the robot, not of a computer whose readings come late."""
        said = [s for _, m in diagnostics[first:] for s in m.status if s.name == "t/damage_detector"]
        return [status for status in said if not any(words in status.message for words in BUSY)]

    # The status line calls a node that does not report OK "not well": a correct detection is no failure.
    wait_until(lambda: len(reports(decided)) >= 4, 20, lambda: detector.output)
    assert {status.level for status in reports()} == {DiagnosticStatus.OK}, reports()


def test_it_is_brought_back_also_after_a_crash_when_its_servos_answer_but_not_what_a_person_took_out(robot):
    probe, feed, detector = robot.probe, robot.feed, robot.detector
    assert probe.set("/t/set_morphology", {"legs.LF": False}) == (True, "")
    detector.kill()
    detector.start()
    feed.mute, feed.back = set(), [*RM, *LF]
    wait_until(lambda: robot.declared()["legs.RM"], 20, lambda: detector.output)
    time.sleep(3.0)
    assert not robot.declared()["legs.LF"] and robot.declared()["legs.RM"]
    assert "LF back" not in detector.output


def test_commands_that_the_servos_refuse_and_old_measurements_are_named_and_not_compared(robot):
    second = robot.probe.node.create_publisher(JointState, "/t/joint_commands", 10)
    second.publish(JointState(name=NAMES, position=[9.0, *robot.feed.command.position[1:]]))
    refused = "joint_commands is refused: it asks 9 rad of coxa_joint_LF"
    wait_until(lambda: refused in robot.probe.statuses("t/damage_detector").message, 5, lambda: robot.detector.output)
    recorded = JointState(name=NAMES, position=robot.feed.command.position)
    recorded.header.stamp.sec = int(time.time()) - 3600
    robot.feed.publishers["/t/servos/measurements"].publish(recorded)
    refused = "servos/measurements is refused: it is 3.6e+03 s old"
    wait_until(lambda: refused in robot.probe.statuses("t/damage_detector").message, 5, lambda: robot.detector.output)


def test_a_decision_that_a_killed_manager_did_not_hear_is_declared_to_the_respawned_one(robot):
    feed, detector, manager = robot.feed, robot.detector, robot.manager
    before = len(detector.output)

    def noticed():
        # The second on a busy machine: ROS does not take the killed one for alive any more when it is decided.
        said = detector.output[before:]
        return "RM missing is declared again" in said or "RM missing is not declared: no service" in said

    manager.kill()
    feed.mute, feed.back = set(RM), []
    wait_until(noticed, 20, lambda: detector.output)
    manager.start()
    wait_until(lambda: not robot.declared()["legs.RM"], 20, lambda: detector.output)
