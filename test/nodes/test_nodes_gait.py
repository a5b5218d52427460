"""gait in a process of its own, fed by hand: commands, falls, what is missing, a foot to press down."""

import math
import os
import time

import numpy as np
import pytest
from support.failing_once import failing_once
from support.machine_load import on_a_free_machine
from support.ros_session import LATCHED, Process, parameters_of, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist, TwistStamped
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.gait.interface import PRESSED_FOOT
from hexapod_dynamics.nodes import velocity_input
from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from hexapod_dynamics.nodes.messages import fill_rotation, fill_vector
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.ros.running import serve
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import rotation_from_vector
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

ROBOT = Robot.jethexa()
STANDING = TripodGait().bind(ROBOT).position.copy()
# Starting a node may compile the model first, on a busy machine.
START = 120
GAIT = ("-r", "__ns:=/g", "-p", "velocity:=0.05", "-p", f"session:=walk{os.getpid()}")


@pytest.fixture(scope="module")
def gait(probe):
    process = Process.node("gait", *GAIT)
    probe.hear(JointState, "/g/joint_commands")
    wait_until(lambda: probe.messages["/g/joint_commands"], START, lambda: process.output)
    yield process
    assert process.interrupt()[1] == 0 and "Traceback" not in process.output
    process.end()


def speed_of(probe):
    """Largest joint rate commanded within the last second."""
    now = time.monotonic()
    heard = [np.abs(m.velocity).max() for at, m in list(probe.messages["/g/joint_commands"]) if at > now - 1.0]
    return max(heard, default=0.0)


def test_it_walks_by_itself_until_it_hears_a_command_and_stops_softly_when_commands_do(gait, probe):
    wait_until(lambda: speed_of(probe) > 0.1, 10, "the default velocity walks")
    turning = Twist()
    turning.angular.z = 0.3
    with probe.publishing("/g/cmd_vel", lambda: turning):
        time.sleep(1.5)
    wait_until(lambda: speed_of(probe) > 0.1, 5, "it turns")
    wait_until(lambda: speed_of(probe) < 1e-3, 15, "the last command is too old: it stands")
    heard = list(probe.messages["/g/joint_commands"])  # more arrive meanwhile
    positions = np.array([m.position for _, m in heard])
    rates = np.array([m.velocity for _, m in heard])
    # No joint moves further from one command to the next than the joints' rates allow; a tick may be 10 ms off.
    stamps = np.array([stamp_seconds(m.header.stamp) for _, m in heard])
    allowed = np.abs(rates).max() * (np.diff(stamps) + 0.022)
    assert (np.abs(np.diff(positions, axis=0)).max(axis=1) < allowed).all()
    np.testing.assert_allclose(probe.last("/g/joint_commands").position, STANDING, atol=2e-3)


class Attitude:
    """Messages imu/data of a robot at rest with a roll angle."""

    def __init__(self):
        self.roll = 0.0

    def __call__(self):
        message, chip = Imu(), rotation_from_vector([self.roll, 0.0, 0.0]) @ ROBOT.imu.rotation
        fill_rotation(message.orientation, chip)
        fill_vector(message.linear_acceleration, (9.81 * chip[2]).tolist())
        return message


FORWARD = Twist()
FORWARD.linear.x = 0.05


def forward():
    """A command to walk."""
    return FORWARD


def quiet(probe):
    """Whether no joint was commanded within the last 0.3 seconds."""
    return probe.messages["/g/joint_commands"][-1][0] < time.monotonic() - 0.3


def test_after_a_fall_legs_stop_until_it_is_upright_and_told_to_walk(gait, probe):
    imu, other = Attitude(), probe.publisher(Twist, "/g/cmd_vel")
    # A joystick that nobody lets go.
    with probe.publishing("/g/imu/data", imu, 0.02), probe.publishing("/g/cmd_vel", forward):
        wait_until(lambda: speed_of(probe) > 0.1, 10, "it walks")
        imu.roll = math.pi
        wait_until(lambda: quiet(probe), 5, "legs stop")
        probe.statuses.says("g/gait", "has fallen")
        gait.kill()  # a respawn changes nothing
        gait.start()
        probe.statuses.says("g/gait", "has fallen", START)
        imu.roll = 0.0
        probe.statuses.says("g/gait", "upright after a fall", 10)
        time.sleep(1.0)
        assert quiet(probe)
        other.publish(Twist())
        wait_until(lambda: speed_of(probe) > 0.1, 10, "told to, it walks again")
    probe.node.destroy_publisher(other)


def test_the_walk_keeps_to_the_clock_and_commands_are_fifty_a_second_at_most(gait, probe):
    def attempt():
        start = time.time()
        time.sleep(4.0)
        heard = [(stamp_seconds(m.header.stamp), m.position) for _, m in list(probe.messages["/g/joint_commands"])]
        stamps = np.array([stamp for stamp, _ in heard if start < stamp < start + 4.0])
        positions = np.array([position for stamp, position in heard if start < stamp < start + 4.0])
        assert 100 < stamps.size <= 202
        # The cycle of 1.2 s is one of the clock's, whatever the machine has left out: two cycles later the same pose.
        rows = np.flatnonzero(stamps + 2.4 < stamps[-1])
        later = np.array([np.interp(stamps[rows] + 2.4, stamps, column) for column in positions.T]).T
        assert np.median(np.abs(later - positions[rows]).max(axis=1)) < 0.03
        assert np.ptp(positions, axis=0).max() > 0.2

    with probe.publishing("/g/cmd_vel", forward):
        wait_until(lambda: speed_of(probe) > 0.1, 10, "it walks")
        time.sleep(1.5)
        on_a_free_machine(attempt)


def test_a_walking_robot_presses_a_foot_down_says_which_and_walks_on_and_an_unknown_leg_is_named(gait, probe):
    states = probe.hear(DiagnosticStatus, "/g/gait_state", LATCHED, keep=200)
    press = probe.publisher(String, "/g/press_foot")

    def pressed():
        """Legs whose feet are pressed down by the state."""
        return {v.value for _, state in list(states) for v in state.values if v.key == PRESSED_FOOT}

    def says(*words):
        return states and all(each in states[-1][1].message for each in words)

    with probe.publishing("/g/cmd_vel", forward):
        wait_until(lambda: says("walking") and speed_of(probe) > 0.1, 20, "it walks")
        press.publish(String(data="XX"))
        wait_until(lambda: says("'XX'", "LF, LM"), 10, lambda: str(states[-1]))
        assert not pressed()
        press.publish(String(data="RM"))
        wait_until(lambda: pressed() == {"RM"}, 10, lambda: str(states))
        wait_until(lambda: says("walking"), 20, lambda: str(states[-1]))
    assert "foot of RM" in gait.output
    wait_until(lambda: speed_of(probe) < 1e-3, 15, "it stands")
    press.publish(String(data="LM"))
    time.sleep(1.0)
    assert speed_of(probe) < 1e-6 and pressed() == {"RM"}
    probe.node.destroy_publisher(press)


def stamped(node):
    """A command to walk with the time of the node."""
    message = TwistStamped()
    message.header.stamp = node.get_clock().now().to_msg()
    message.twist.linear.x = 0.05
    return message


def test_both_types_of_cmd_vel_at_once_move_the_robot_and_that_is_named(gait, probe):
    """An idle teleop of one type is open while Nav2 publishes the other."""
    idle = probe.node.create_publisher(Twist, "/g/cmd_vel", 10)
    nav = "ros2", "topic", "pub", "-r", "10", "/g/cmd_vel", "geometry_msgs/TwistStamped", "{twist: {linear: {x: 0.05}}}"
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands")
    with Process(*nav):
        with probe.publishing("/g/cmd_vel", Twist, 0.1):
            probe.statuses.says("g/gait", "contradict each other: end all but one", 20)
        wait_until(lambda: speed_of(probe) > 0.2, 20, lambda: f"it walks: {probe.statuses('g/gait')} {gait.output}")
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands")
    with probe.publishing("/g/cmd_vel", forward):
        wait_until(lambda: speed_of(probe) > 0.2, 10, "the other type is received as before")
    probe.node.destroy_publisher(idle)


@pytest.mark.parametrize(("make", "qos"), [(lambda node: FORWARD, qos_profile_sensor_data), (stamped, 10)])
def test_either_type_of_cmd_vel_with_either_reliability_moves_the_robot(gait, probe, make, qos):
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands")
    with probe.publishing("/g/cmd_vel", lambda: make(probe.node), qos=qos):
        wait_until(lambda: speed_of(probe) > 0.2, 10, lambda: f"it walks: {probe.statuses('g/gait')} {gait.output}")


def test_the_second_participant_is_made_again_where_it_has_failed(probe, monkeypatch):
    make, received = failing_once(velocity_input.GuardedNode, OSError("no file is left")), []
    monkeypatch.setattr(velocity_input, "GuardedNode", make)
    node = RobotNode("listener")
    node.loop = TickLoop(node, 0.02)
    velocity = velocity_input.VelocityInput(node, received.append, 1.0)
    nav = "ros2", "topic", "pub", "-r", "10", "/cmd_vel", "geometry_msgs/TwistStamped", "{twist: {linear: {x: 0.05}}}"
    with Process(*nav):
        end = time.monotonic() + 30.0
        serve(node, lambda: not received and time.monotonic() < end)
    velocity.close()
    node.destroy_node()
    assert received[0] == (0.05, 0.0, 0.0) and not make.errors


def old(message):
    """The message with a stamp of an hour ago."""
    message.header.stamp.sec = int(time.time()) - 3600
    return message


@pytest.fixture(scope="module")
def declare(probe):
    """Give a function that publishes a morphology for the gait."""
    publisher = probe.node.create_publisher(ParameterEvent, "/g/morphology", LATCHED)
    return lambda whole: publisher.publish(ParameterEvent(new_parameters=parameters_of(whole.parameters())))


def test_a_command_and_a_fall_of_an_hour_ago_move_and_stop_nothing_and_are_named(gait, probe):
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands")
    turned = Attitude()
    turned.roll = math.pi
    with probe.publishing("/g/cmd_vel", lambda: old(stamped(probe.node))):
        probe.statuses.says("g/gait", "s old")
        assert speed_of(probe) < 1e-3
    with probe.publishing("/g/imu/data", lambda: old(turned())), probe.publishing("/g/cmd_vel", forward):
        probe.statuses.says("g/gait", "imu/data is refused: it is 3.6e+03 s old")
        wait_until(lambda: speed_of(probe) > 0.1, 10, "it walks")


def test_joints_of_an_hour_ago_bring_no_restored_leg_back_and_are_named(gait, probe, declare):
    standing = JointState(name=ROBOT.joint_names, position=STANDING)
    declare(Morphology.whole(ROBOT).without("RM"))
    wait_until(lambda: probe.statuses.value("g/gait", "legs") == "LF LM LR RR RF", 20, "it stands on five legs")
    with probe.publishing("/g/joint_states", lambda: old(standing), 0.02):
        declare(Morphology.whole(ROBOT))
        probe.statuses.says("g/gait", "joint_states is refused: it is 3.6e+03 s old")
        assert "RM came back" in probe.statuses.value("g/gait", "why")


def test_a_name_that_is_none_is_the_reason_also_while_it_walks(gait, probe):
    with probe.publishing("/g/cmd_vel", forward):
        wait_until(lambda: speed_of(probe) > 0.2, 10, "it walks")
        accepted, reason = probe.set("/g/gait/set_parameters_atomically", {"gait": "wav"})
        assert not accepted and "wave" in reason and "cmd_vel zero" not in reason


def test_a_command_that_is_no_number_is_refused_and_named(gait, probe):
    publisher, wrong = probe.publisher(Twist, "/g/cmd_vel"), Twist()
    wrong.linear.x = math.nan
    for _ in range(3):
        publisher.publish(wrong)
    probe.statuses.says("g/gait", "finite numbers")
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands: the walk of the test before has ended")
    probe.node.destroy_publisher(publisher)


def test_what_is_missing_or_locked_is_left_alone_and_without_any_leg_it_does_not_say_that_it_walks(
    gait, probe, declare
):
    morphology = Morphology.whole(ROBOT).without("RM", "LM.femur").locked("RF.tibia", 0.0)
    declare(morphology)
    expected = [name for name, moves in zip(ROBOT.joint_names, morphology.moving_mask, strict=True) if moves]
    wait_until(lambda: list(probe.last("/g/joint_commands").name) == expected, 10, "only what moves is commanded")
    assert len(probe.last("/g/joint_commands").position) == len(expected) == 12
    declare(Morphology.whole(ROBOT).without(*ROBOT.leg_names))
    probe.statuses.says("g/gait", "no leg is left")
    wait_until(lambda: quiet(probe), 5, "nothing is commanded")
    assert probe.statuses("g/gait").level == DiagnosticStatus.ERROR


@pytest.fixture
def detector(probe):
    """The node damage_detector in this process; asks: legs that are to be pressed."""
    node = DamageDetectorNode()
    node.asks = []
    node.detection.detector.probe = lambda time: node.asks.pop() if node.asks else None
    yield node
    node.destroy_node()


def test_the_detector_asks_for_it_unless_it_only_reports(probe, detector):
    heard = probe.hear(String, "press_foot")
    wait_until(lambda: detector._probes.get_subscription_count(), 10, "somebody listens")
    for mode, leg in (("report", "LF"), ("declare", "RM")):
        detector.detection.mode, detector.asks = mode, [leg]
        detector._update()
    wait_until(lambda: heard, 10, "press_foot is published")
    assert [message.data for _, message in heard] == ["RM"]
