"""What publishers of the field offer is received, or the publisher is named with the reason."""

import time
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.ros_session import LATCHED, Process, wait_until

import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings
from hexapod_dynamics.drivers.servos.topics import TopicServos
from hexapod_dynamics.nodes.command_watch import source_name
from hexapod_dynamics.nodes.foreign_joints import ForeignJoints
from hexapod_dynamics.onboard.inputs import Faults, JointInput
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.guarded_node import PublisherCheck
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool

ROBOT = Robot.jethexa()
START = 60


def test_the_reason_is_told_as_long_as_there_is_such_a_publisher(probe):
    node = rclpy.create_node("listener")
    node.received = set()  # of GuardedNode: topics that are received in another type, too
    node.create_subscription(Bool, "/l/following", lambda message: None, LATCHED)
    check = PublisherCheck(node)

    def told():
        check._next = 0.0  # it is time to look at the next topic
        return " ".join(check.find_reasons())

    publisher = probe.node.create_publisher(Bool, "/l/following", 10)
    wait_until(lambda: "make it transient local" in told(), 10, told)
    probe.node.destroy_publisher(publisher)
    wait_until(lambda: not told(), 10, told)
    with Process("ros2", "topic", "pub", "-r", "10", "/l/following", "geometry_msgs/Twist", "{}"):
        wait_until(lambda: "publishes geometry_msgs/msg/Twist" in told(), 30, told)
    wait_until(lambda: not told(), 30, told)
    node.create_subscription(Imu, "/l/imu", lambda message: None, 10)
    publishers = [each.create_publisher(Imu, "/l/imu", 10) for each in (probe.node, probe.node, node)]
    wait_until(lambda: "/l/imu has 2 publishers, /listener, /probe: end all but one" in told(), 10, told)
    probe.node.destroy_publisher(publishers[0])
    node.destroy_publisher(publishers[2])  # two of one node are no contradiction: it may have been started again
    wait_until(lambda: not told(), 10, told)
    node.destroy_node()


def test_two_nodes_of_one_name_in_one_process_are_two_sources_of_commands(probe):
    assert source_name(probe.node) != source_name(probe.node)
    assert start._names(start.COMPANIONS, ["gait", "gait", "--ros-args"]) == ["gait"]


def test_joint_states_of_another_driver_are_received_with_either_reliability(probe):
    """They are published best effort: who receives these receives reliable ones, too."""
    servos = Process.node("servos", "-r", "__ns:=/f", "-p", "protocol:=topics", "-p", "rate:=50.0")
    message = JointState(name=list(ROBOT.joint_names))

    def measured():
        message.header.stamp = probe.node.get_clock().now().to_msg()
        angles = 0.1 + 1e-3 * np.sin(time.monotonic() + np.arange(18))
        message.position = [*angles.tolist(), 0.0][: len(message.name)]
        return message

    following = probe.hear(Bool, "/f/servos/following", LATCHED)
    with servos, probe.publishing("/f/joint_states", measured, 0.02, qos_profile_sensor_data):
        wait_until(
            lambda: following and probe.statuses("f/servos").level == DiagnosticStatus.OK,
            START,
            lambda: f"{probe.statuses('f/servos')} {servos.output}",
        )
        zeros = JointState(name=message.name, position=[0.0] * 18)
        with probe.publishing("/f/joint_states", lambda: zeros, 0.1):
            probe.statuses.says("f/servos", "contradict each other: end all but one")
            assert probe.statuses("f/servos").level != DiagnosticStatus.OK
        message.name = [*message.name, message.name[0]]  # a name twice: this joint is left out, and named
        probe.statuses.says("f/servos", "more than once")
        assert probe.statuses("f/servos").level != DiagnosticStatus.OK


@pytest.mark.parametrize(
    ("names", "positions", "said"),
    [
        ([name.upper() for name in ROBOT.joint_names], 18 * [0.1], "'COXA_JOINT_LF' given, 'coxa_joint_LF' needed"),
        ([], [], "no names given"),
        (ROBOT.joint_names, 18 * [np.degrees(0.2)], r"11.46 rad for coxa_joint_LF, .* are these degrees\?"),
    ],
)
def test_joint_states_of_other_names_or_in_degrees_are_told_as_that(names, positions, said):
    servos = TopicServos(PortSettings("joint_states"), range(18))
    node = MagicMock(robot=ROBOT, joints=JointInput(ROBOT, Faults()))
    joints = ForeignJoints(node, servos, "joint_commands")
    joints._on_states(JointState(name=names, position=positions))
    with pytest.raises(BusError, match=said):
        servos.open()
    joints._on_states(JointState(name=ROBOT.joint_names, position=18 * [0.1]))
    servos.open()
    joints._on_states(JointState(name=["wheel"], position=[99.0]))  # of another device, beside the robot
    assert not [words for words in servos.list_warnings() if "wheel" in words]


@pytest.mark.parametrize("interface", ["joint_commands", "commands", "joint_trajectory"])
def test_set_points_are_published_in_the_form_of_the_other_driver(interface):
    node, sent = MagicMock(robot=ROBOT), {}
    node.create_publisher = lambda kind, topic, qos: MagicMock(publish=lambda message: sent.update({topic: message}))
    node.get_clock().now().to_msg.return_value = Time()
    joints = ForeignJoints(node, TopicServos(PortSettings("joint_states"), range(18)), interface)
    angles = np.linspace(-0.5, 0.5, 18)
    joints.publish(angles, 0.5)
    assert set(sent) == {"joint_commands", interface}
    assert sent["joint_commands"].name == list(ROBOT.joint_names)
    np.testing.assert_array_equal(sent["joint_commands"].position, angles)
    if interface == "commands":
        np.testing.assert_array_equal(sent["commands"].data, angles)
    if interface == "joint_trajectory":
        (point,) = sent["joint_trajectory"].points
        assert point.time_from_start.nanosec == 500_000_000 and sent["joint_trajectory"].header.stamp == Time()
        np.testing.assert_array_equal(point.positions, angles)
    sent.clear()
    angles[3] = np.nan  # a joint without a set-point
    joints.publish(angles, 0.5)
    assert set(sent) == {"joint_commands", interface} - {"commands"}  # which has no names: complete sets only
    assert all(len(getattr(message, "name", ROBOT.joint_names[1:])) == 17 for message in sent.values())
