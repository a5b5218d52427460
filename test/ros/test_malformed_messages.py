"""Bytes that are no message of their topic's type, fifty times a second: nodes go on, serve, and name the publisher."""

import time

import numpy as np
import pytest
from support.driver_session import NAMES
from support.ros_session import LATCHED, NEWEST, Process, wait_until

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Pose, Twist
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters
from rclpy._rclpy_pybind11 import RCLError
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

STRANGER = "stranger"
TOPICS = {
    "joint_commands": (JointState, 10),
    "feedforward_torques": (JointState, 10),
    "morphology": (ParameterEvent, LATCHED),
    "servos/measurements": (JointState, 10),
    "imu/data": (Imu, NEWEST),
    "cmd_vel": (Twist, 10),
    "body_pose": (Pose, 10),
    "press_foot": (String, 10),
    "try_joint": (String, 10),
    "servos/following": (Bool, LATCHED),
}
# The nodes and, of the topics that they subscribe to all the time, the types that are not read in the same way.
NODES = {
    "servos": ("joint_commands", "morphology"),
    "dynamics": ("joint_commands", "servos/measurements", "imu/data", "morphology", "servos/following"),
    "gait": ("cmd_vel", "imu/data", "morphology", "body_pose", "press_foot", "try_joint"),
}


def malformed(kind):
    """Give bytes of other encodings (PL_CDR, XCDR2, PL_CDR2, a foreign first byte), cut off, and with giant lengths."""
    message = kind()
    if kind is JointState:
        message = JointState(name=NAMES, position=[0.1] * len(NAMES))
    whole = serialize_message(message)
    yield from (encoding + whole[2:] for encoding in (b"\0\3", b"\0\7", b"\0\x0b", b"\7\3"))
    yield from (whole[:-5], whole[: len(whole) // 2], whole[:8], whole[:4], b"\0\0" + whole[2:])
    yield from (whole[:4] + giant * (len(whole) // 4) for giant in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"))


class Stranger:
    """A node that publishes malformed messages on several topics."""

    def __init__(self, topics):
        self.node = rclpy.create_node(STRANGER)
        self._publishers = []
        for topic in topics:
            kind, qos = TOPICS[topic]
            publisher = self.node.create_publisher(kind, topic, qos)
            self._publishers.append((publisher, self._accepted(publisher, kind)))
        self._next = 0

    @staticmethod
    def _accepted(publisher, kind):
        """Return what this ROS 2 lets a program publish: Cyclone DDS's wheel for Python refuses most of it itself."""
        accepted = []
        for data in malformed(kind):
            try:
                publisher.publish(data)
            except RCLError:
                continue
            accepted.append(data)
        assert len(accepted) >= 2
        return accepted

    def found(self):
        return all(publisher.get_subscription_count() > 0 for publisher, _ in self._publishers)

    def publish(self, seconds=0.0, rate=50.0, until=lambda: False):
        """Publish on each topic so many times a second (at least once), until a condition holds."""
        end = time.monotonic() + seconds
        while True:
            for publisher, accepted in self._publishers:
                publisher.publish(accepted[self._next % len(accepted)])
            self._next += 1
            if until() or time.monotonic() >= end:
                return
            time.sleep(1.0 / rate)

    def close(self):
        self.node.destroy_node()


def reported(probe, name, topic):
    """Return the number of malformed messages on a topic that a node reports of the stranger."""
    start = f"malformed messages on /{topic} from "
    return sum(
        int(pair.value)
        for pair in probe.statuses(name).values
        if pair.key.startswith(start) and f"/{STRANGER}" in pair.key
    )


def test_the_emergency_stop_works_while_malformed_messages_come(probe, robot):
    process, stranger = Process.node("servos"), None
    joints = probe.hear(JointState, "joint_states", keep=5)
    commands = probe.node.create_publisher(JointState, "joint_commands", 10)
    before = robot.pose.copy()
    message = JointState(name=NAMES)
    message.header.frame_id = "walker"  # two publishers that cannot be told apart make servos hold

    def moves_to(pose):
        message.position = pose.tolist()
        commands.publish(message)
        return np.abs(robot.pose - pose).max() < 0.01

    def commanded_to(pose, publish):
        end = time.monotonic() + 15.0
        while not moves_to(pose):
            publish()
            assert time.monotonic() < end, (probe.statuses("servos"), process.output)

    try:
        wait_until(lambda: joints and commands.get_subscription_count() > 0, 60, lambda: process.output)
        commanded_to(before + 0.05, lambda: time.sleep(0.02))
        stranger = Stranger(("joint_commands", "feedforward_torques", "morphology"))
        wait_until(stranger.found, 60, lambda: process.output)
        commanded_to(before, lambda: stranger.publish(0.02))  # commands are followed meanwhile
        client = probe.node.create_client(SetBool, "emergency_stop")
        assert client.wait_for_service(10)
        for data in (True, False, True):
            future = client.call_async(SetBool.Request(data=data))
            stranger.publish(10.0, until=future.done)
            assert future.done() and future.result().success, process.output
        stopped = robot.pose.copy()
        stranger.publish(1.0, until=lambda: moves_to(before + 0.05) and False)
        assert np.abs(robot.pose - stopped).max() < 0.01
        wait_until(lambda: reported(probe, "servos", "joint_commands") > 0, 5, lambda: probe.statuses("servos"))
        joints.clear()
        wait_until(lambda: joints, 5, "joint states after the flood")
        assert process.running() and "Traceback" not in process.output, process.output
        assert probe.call(SetBool, "emergency_stop", SetBool.Request(data=False)).success
    finally:
        if stranger is not None:
            stranger.close()
        probe.node.destroy_publisher(commands)
        process.interrupt()
        process.end()


@pytest.fixture(scope="module")
def nodes(probe, robot):
    """The nodes of a robot, {name: process}; in the end they have served on, and end cleanly."""
    nodes = {name: Process.node(name) for name in NODES}
    yield nodes
    for process in nodes.values():
        _, code = process.interrupt()
        process.end()
        assert code == 0 and "Traceback" not in process.output, process.output


def test_nodes_survive_malformed_messages_count_them_and_serve(probe, nodes):
    stranger = Stranger({topic for topics in NODES.values() for topic in topics})
    try:
        wait_until(stranger.found, 60, lambda: {name: process.output for name, process in nodes.items()})

        def unreported():
            return [(name, topic) for name in NODES for topic in NODES[name] if not reported(probe, name, topic)]

        stranger.publish(15.0, until=lambda: not unreported())
        assert not unreported()
        for name in NODES:
            status, process = probe.statuses(name), nodes[name]
            assert status.level != DiagnosticStatus.OK and "malformed messages on /" in status.message
            request = GetParameters.Request(names=["use_sim_time"])
            assert len(probe.call(GetParameters, f"{name}/get_parameters", request).values) == 1
            assert process.running() and "Traceback" not in process.output, process.output
    finally:
        stranger.close()
