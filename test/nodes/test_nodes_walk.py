"""gait and dynamics in processes of their own, fed by hand: what they do with good input, bad input and none."""

import math
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from support.machine_load import on_a_free_machine
from support.ros_session import LATCHED, Process, parameters_of, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.nodes.messages import read_pose
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_vector
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import Imu, JointState

ROBOT = Robot.jethexa()
STANDING = TripodGait().bind(ROBOT).position.copy()
AT_REST = (ROBOT.imu.rotation.T @ [0.0, 0.0, 9.81]).tolist()  # [m/s^2] in chip axes
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


@pytest.fixture(scope="module")
def dynamics(probe):
    process = Process.node("dynamics", "-r", "__ns:=/d", "-p", "odom_topic:=odom")
    feed = Feed(probe)
    feed.pid = process.pid
    probe.hear(Odometry, "/d/predicted_state", keep=500)
    probe.hear(JointState, "/d/feedforward_torques", keep=500)
    probe.hear(JointState, "/d/predicted_joint_states", keep=500)
    wait_until(lambda: probe.messages["/d/predicted_state"], START, lambda: process.output)
    yield feed
    assert process.interrupt()[1] == 0 and "Traceback" not in process.output
    process.end()


class Feed:
    """Publishes what a standing robot would, 50 times a second; tests bend the messages or stop them."""

    def __init__(self, probe):
        node = self.node = probe.node
        self.joints = JointState(name=list(ROBOT.joint_names), position=STANDING.tolist())
        self.commands = JointState(name=list(ROBOT.joint_names), position=STANDING.tolist(), velocity=[0.0] * 18)
        self.imu = Imu()
        turn = self.imu.orientation
        turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(ROBOT.imu.rotation)
        force = self.imu.linear_acceleration
        force.x, force.y, force.z = AT_REST
        self.muted, self.age = set(), 0
        self._topics = [
            (name, message, node.create_publisher(type(message), f"/d/{name}", 10))
            for name, message in (
                ("joint_states", self.joints),
                ("joint_commands", self.commands),
                ("imu/data", self.imu),
            )
        ]
        self.morphology = node.create_publisher(ParameterEvent, "/d/morphology", LATCHED)
        node.create_timer(0.02, self._publish)

    def _publish(self):
        for name, message, publisher in self._topics:
            if name not in self.muted:
                message.header.stamp = self.node.get_clock().now().to_msg()
                message.header.stamp.sec -= self.age if name == "joint_commands" else 0
                publisher.publish(message)

    def tell(self, values):
        self.morphology.publish(ParameterEvent(node="/test", new_parameters=parameters_of(values)))


def last(probe, topic):
    return probe.messages[topic][-1][1]


def fresh(probe, topic, timeout=5):
    """A message of the topic that has arrived after now."""
    now = time.monotonic()
    wait_until(lambda: probe.messages[topic] and probe.messages[topic][-1][0] > now, timeout, f"{topic} goes on")
    return last(probe, topic)


# ---- gait --------------------------------------------------------------------------------------------------------


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
    np.testing.assert_allclose(last(probe, "/g/joint_commands").position, STANDING, atol=2e-3)


class Attitude:
    """Messages imu/data of a robot at rest with a roll angle, which a force per mass pushes to the left."""

    def __init__(self):
        self.roll = self.push = 0.0

    def __call__(self):
        rotation = rotation_from_vector([self.roll, 0.0, 0.0])
        message = Imu()
        turn, force = message.orientation, message.linear_acceleration
        turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(rotation @ ROBOT.imu.rotation)
        force.x, force.y, force.z = ROBOT.imu.rotation.T @ (9.81 * rotation[2] + [0.0, self.push, 0.0])
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


def test_a_walking_robot_that_is_pushed_braces_and_walks_on_and_a_standing_one_does_not_move(gait, probe):
    imu, states = Attitude(), probe.hear(DiagnosticStatus, "/g/gait_state", LATCHED, keep=100)
    with probe.publishing("/g/imu/data", imu, 0.02):
        with probe.publishing("/g/cmd_vel", forward):
            wait_until(lambda: speed_of(probe) > 0.1, 10, "it walks")
            time.sleep(2.0)
            states.clear()
            imu.push = 12.0
            wait_until(lambda: any(m.message.startswith("bracing") for _, m in list(states)), 5, "it braces")
            imu.push = 0.0
            wait_until(lambda: states[-1][1].message.startswith("walking"), 5, "it walks on")
            wait_until(lambda: speed_of(probe) > 0.1, 5, "its legs move")
        with probe.publishing("/g/cmd_vel", Twist):
            wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands")
            imu.push = 12.0
            time.sleep(0.5)
            imu.push = 0.0
            time.sleep(3.0)
            assert speed_of(probe) < 1e-3


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


def test_a_command_that_is_no_number_is_refused_and_named(gait, probe):
    publisher, wrong = probe.publisher(Twist, "/g/cmd_vel"), Twist()
    wrong.linear.x = math.nan
    for _ in range(3):
        publisher.publish(wrong)
    probe.statuses.says("g/gait", "finite numbers")
    wait_until(lambda: speed_of(probe) < 1e-3, 10, "it stands: the walk of the test before has ended")
    probe.node.destroy_publisher(publisher)


def test_legs_that_are_missing_and_joints_that_are_locked_are_left_alone(gait, probe):
    publisher = probe.node.create_publisher(ParameterEvent, "/g/morphology", LATCHED)
    morphology = Morphology.whole(ROBOT).without("RM", "LM.femur").locked("RF.tibia", 0.0)
    publisher.publish(ParameterEvent(node="/test", new_parameters=parameters_of(morphology.parameters())))
    expected = [name for name, moves in zip(ROBOT.joint_names, morphology.moving_mask, strict=True) if moves]
    wait_until(lambda: list(last(probe, "/g/joint_commands").name) == expected, 10, "only what moves is commanded")
    assert len(last(probe, "/g/joint_commands").position) == len(expected) == 12


def test_without_any_leg_it_does_not_say_that_it_walks(gait, probe):
    publisher = probe.node.create_publisher(ParameterEvent, "/g/morphology", LATCHED)
    nothing = Morphology.whole(ROBOT).without(*ROBOT.leg_names)
    publisher.publish(ParameterEvent(node="/test", new_parameters=parameters_of(nothing.parameters())))
    probe.statuses.says("g/gait", "no leg is left")
    wait_until(lambda: quiet(probe), 5, "nothing is commanded")
    assert probe.statuses("g/gait").level == DiagnosticStatus.ERROR


# ---- dynamics ----------------------------------------------------------------------------------------------------


def test_a_standing_robot_is_predicted_to_stand(dynamics, probe):
    probe.statuses.says("d/dynamics", "predicting")
    message = fresh(probe, "/d/predicted_state")
    p = message.pose.pose.position
    assert math.hypot(p.x, p.y) < 0.005 and 0.11 < p.z < 0.125
    assert message.header.frame_id == "d/odom" and message.child_frame_id == "d/base_link"
    variances = np.reshape(message.pose.covariance, (6, 6)).diagonal()
    assert (variances > 0.0).all() and (variances < 0.01).all()  # standing: the way adds nothing to them
    assert np.abs(fresh(probe, "/d/feedforward_torques").effort).max() > 0.1


def test_the_odometry_is_published_by_the_name_that_nav2_expects_too(dynamics, probe):
    probe.hear(Odometry, "/d/odom", keep=50)

    def pair():
        states = {str(m.header.stamp): m for _, m in list(probe.messages["/d/predicted_state"])}
        odoms = [m for _, m in list(probe.messages["/d/odom"])]
        return next(((m, states[str(m.header.stamp)]) for m in odoms if str(m.header.stamp) in states), None)

    odom, state = wait_until(pair, 10, "odom and predicted_state of one time")
    assert (odom.header.frame_id, odom.child_frame_id) == ("d/odom", "d/base_link")
    assert odom.pose == state.pose and odom.twist == state.twist


def test_diagnostics_have_the_predicted_pose(dynamics, probe):
    probe.statuses.says("d/dynamics", "predicting")

    def pose():
        return read_pose(probe.statuses("d/dynamics").values)

    wait_until(pose, 5, "no pose in the diagnostics")
    at, place, rotation = pose()
    p = fresh(probe, "/d/predicted_state").pose.pose.position
    assert np.allclose(place, (p.x, p.y, p.z), atol=2e-3) and rotation[2, 2] > 0.99
    assert 0.0 < time.time() - at < 3.0


def test_predictions_that_are_left_out_are_the_machines_fault(dynamics, probe):
    now = time.monotonic()
    os.kill(dynamics.pid, signal.SIGSTOP)
    time.sleep(0.7)
    os.kill(dynamics.pid, signal.SIGCONT)

    def left_out():
        for at, message in list(probe.statuses.heard):
            for entry in message.status:
                found = re.search(r"this machine is too slow or too busy: (\d+) of \d+ predictions", entry.message)
                if at > now + 0.7 and entry.name == "d/dynamics" and found and int(found[1]) >= 60:
                    return entry.level, entry.message
        return None

    level, words = wait_until(left_out, 8, lambda: probe.statuses("d/dynamics"))
    assert level == DiagnosticStatus.WARN and "noisy" not in words


def wrong_values(feed):
    feed.joints.position[4], feed.commands.position[0], feed.imu.orientation.w = math.nan, 1e308, math.nan
    feed.tell({"legs.XX": False})
    return (
        "joint_states has a value that is not finite for",
        "joint_commands is refused: it asks 1e+308 rad",
        "imu/data: orientation quaternion",
        "the legs are LF, LM, LR, RR, RM, RF",
    )


def old_commands_and_no_imu(feed):
    feed.age = 3600
    feed.muted.add("imu/data")
    return "joint_commands is refused: it is 3.6e+03 s old", "no imu/data"


def no_servos(feed):
    feed.muted.add("joint_states")
    return ("no joint_states",)


@pytest.mark.parametrize("bend", [wrong_values, old_commands_and_no_imu, no_servos])
def test_bad_input_is_named_and_the_rest_goes_on(dynamics, probe, bend):
    def named(words):
        return [each in probe.statuses("d/dynamics").message for each in words]

    words = bend(dynamics)
    wait_until(lambda: all(named(words)), 8, lambda: f"all of {words} in {probe.statuses('d/dynamics')}")
    p = fresh(probe, "/d/predicted_state").pose.pose.position
    assert math.hypot(p.x, p.y) < 0.02 and 0.1 < p.z < 0.13
    dynamics.joints.position, dynamics.commands.position = STANDING.tolist(), STANDING.tolist()
    dynamics.age, dynamics.imu.orientation.w = 0, quaternion_from_rotation(ROBOT.imu.rotation)[3]
    dynamics.muted.clear()
    wait_until(
        lambda: not any(named(words)) and probe.statuses("d/dynamics").level != DiagnosticStatus.ERROR,
        12,
        lambda: f"all is well again but {probe.statuses('d/dynamics')}",
    )


def test_a_change_of_morphology_is_in_the_next_prediction(dynamics, probe):
    told = time.monotonic()
    dynamics.tell(Morphology.whole(ROBOT).without("RM").parameters())
    wait_until(lambda: len(last(probe, "/d/feedforward_torques").name) == 15, 5, "fifteen joints are left")
    assert len(fresh(probe, "/d/predicted_joint_states").name) == 15
    # State and torques of one prediction, which carry one stamp, always have the same joints.
    torques = {stamp_seconds(m.header.stamp): len(m.name) for at, m in list(probe.messages["/d/feedforward_torques"])}
    pairs = [
        (len(m.name), torques[stamp_seconds(m.header.stamp)])
        for at, m in list(probe.messages["/d/predicted_joint_states"])
        if at > told - 1.0 and stamp_seconds(m.header.stamp) in torques
    ]
    assert {(18, 18), (15, 15)} == set(pairs)
    dynamics.tell(Morphology.whole(ROBOT).locked("RF.tibia", 0.0).parameters())
    wait_until(
        lambda: len(last(probe, "/d/feedforward_torques").name) == 17,
        15,
        lambda: f"seventeen joints move, but {probe.statuses('d/dynamics')}",
    )
    message = fresh(probe, "/d/predicted_joint_states")
    assert len(message.name) == 18
    # Locked where the message says, in the state and in the torques alike.
    index = ROBOT.joint_names.index("tibia_joint_RF")
    assert message.position[index] == 0.0


def test_a_machine_that_cannot_hold_the_rate_gets_half_of_it_evenly_and_says_so(dynamics, probe):
    """The last test of `dynamics` in this module: its rate stays halved for a while."""
    end = threading.Event()

    def slow():
        while not end.is_set():  # it has 10 ms in 55
            os.kill(dynamics.pid, signal.SIGSTOP)
            time.sleep(0.045)
            os.kill(dynamics.pid, signal.SIGCONT)
            end.wait(0.01)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        probe.statuses.says("d/dynamics", "too slow or too busy for 100 a second: 50 a second", 20)
        assert probe.statuses("d/dynamics").level == DiagnosticStatus.WARN
    finally:
        end.set()
        thread.join()
    heard, begin = probe.messages["/d/predicted_state"], time.monotonic()
    wait_until(lambda: heard[-1][0] > begin + 3.0, 10, "it predicts")
    stamps = [stamp_seconds(m.header.stamp) for at, m in list(heard) if begin + 1.0 < at < begin + 3.0]
    assert 45.0 < (len(stamps) - 1) / (stamps[-1] - stamps[0]) < 55.0
    assert np.median(np.diff(stamps)) == pytest.approx(0.02, abs=0.002)
