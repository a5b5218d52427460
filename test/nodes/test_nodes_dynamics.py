"""dynamics in a process of its own, fed by hand: what it does with good input, bad input and none."""

import math
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from support.ros_session import LATCHED, Process, parameters_of, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.support import support_polygon
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.nodes.messages import fill_rotation, fill_vector, read_pose
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import Marker, MarkerArray

ROBOT = Robot.jethexa()
STANDING = TripodGait().bind(ROBOT).position.copy()
# Starting a node may compile the model first, on a busy machine.
START = 120


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
        fill_rotation(self.imu.orientation, ROBOT.imu.rotation)
        fill_vector(self.imu.linear_acceleration, (ROBOT.imu.rotation.T @ [0.0, 0.0, 9.81]).tolist())
        self.second = JointState(name=self.commands.name, position=(STANDING + [0.0, 0.4, 0.0] * 6).tolist())
        self.second.header.frame_id = "another program"
        self.muted, self.age = {"second"}, 0
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
            if name == "joint_commands" and "second" not in self.muted:
                publisher.publish(self.second)

    def tell(self, values):
        self.morphology.publish(ParameterEvent(node="/test", new_parameters=parameters_of(values)))


def fresh(probe, topic, timeout=5):
    """A message of the topic that has arrived after now."""
    now = time.monotonic()
    wait_until(lambda: probe.messages[topic] and probe.messages[topic][-1][0] > now, timeout, f"{topic} goes on")
    return probe.last(topic)


def test_a_standing_robot_is_predicted_to_stand(dynamics, probe):
    probe.statuses.says("d/dynamics", "predicting")
    message = fresh(probe, "/d/predicted_state")
    p = message.pose.pose.position
    assert math.hypot(p.x, p.y) < 0.005 and 0.11 < p.z < 0.125
    assert message.header.frame_id == "d/odom" and message.child_frame_id == "d/base_link"
    variances = np.reshape(message.pose.covariance, (6, 6)).diagonal()
    assert (variances > 0.0).all() and (variances < 0.01).all()  # standing: the way adds nothing to them
    torques, zero = fresh(probe, "/d/feedforward_torques"), np.zeros(18)
    carried = Feedforward(ROBOT).solve(np.eye(3), p.z, np.zeros(6), STANDING, zero, zero, STANDING)
    assert torques.name == list(ROBOT.joint_names) and np.abs(carried).max() > 0.1
    np.testing.assert_allclose(torques.effort, carried, atol=0.03)


def named(message):
    """Forces {leg index: (foot (3,), force (3,))}, corners (k, 3), centre of mass (3,), ZMP (3,) or None."""
    forces, others = {}, {}
    for marker in message.markers:
        there = marker.action == Marker.ADD
        points = np.array([(p.x, p.y, p.z) for p in marker.points])
        if marker.ns == "foot_forces":
            if there:
                forces[marker.id] = points[0], (points[1] - points[0]) / 0.01
        elif marker.type == Marker.SPHERE:
            place = marker.pose.position
            others[marker.ns] = np.array([place.x, place.y, place.z]) if there else None
        else:
            others[marker.ns] = points
    return forces, others["support_polygon"], others["center_of_mass"], others["zero_moment_point"]


def test_the_markers_of_a_standing_robot_carry_its_weight_on_its_feet_above_its_zmp(dynamics, probe):
    heard = probe.hear(MarkerArray, "/d/support", keep=100)
    wait_until(lambda: len(heard) > 60, 30, "the model has come to rest")
    message, model, tree = heard[-1][1], WholeBodyModel(ROBOT), LinkTree(ROBOT).base_poses(STANDING)
    assert {marker.header.frame_id for marker in message.markers} == {"d/odom"}
    forces, corners, center, zmp = named(message)
    assert set(forces) == set(range(6))
    total = np.sum([force for _, force in forces.values()], axis=0)
    np.testing.assert_allclose(total, [0, 0, ROBOT.gravity * model.total_mass()], rtol=0.02, atol=0.4)
    # The model stands level, but for what its servos give way: in base_link its feet are where the joints put them.
    expected = model.center_of_mass(np.eye(3), np.zeros(3), STANDING)
    feet = [tree[f"foot_{name}"][:3, 3] for name in ROBOT.leg_names]
    for leg, (foot, _) in forces.items():
        np.testing.assert_allclose(foot - center, feet[leg] - expected, atol=0.01)
    np.testing.assert_allclose(zmp, [center[0], center[1], 0.0], atol=0.005)
    hull = support_polygon([foot for foot, _ in forces.values()], [force for _, force in forces.values()])
    np.testing.assert_allclose(corners, [*hull, hull[0]], atol=1e-9)
    # In the robot's clock: a burst that arrives late is no higher rate.
    stamps = [stamp_seconds(message.markers[0].header.stamp) for _, message in list(heard)[-50:]]
    assert 49 / (stamps[-1] - stamps[0]) < 26.0  # publications a second


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
                # 69 are missed, or 34 at half the rate, which the node takes while the computer is busy
                if at > now + 0.7 and entry.name == "d/dynamics" and found and int(found[1]) >= 30:
                    return entry.level, entry.message
        return None

    level, words = wait_until(left_out, 8, lambda: probe.statuses("d/dynamics"))
    assert level != DiagnosticStatus.OK and "noisy" not in words  # an error where it missed joint_states, too


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


def two_sources_of_commands(feed):
    feed.muted.clear()
    return ("joint_commands is refused: 'another program' is not followed",)


@pytest.mark.parametrize("bend", [wrong_values, old_commands_and_no_imu, no_servos, two_sources_of_commands])
def test_bad_input_is_named_and_the_rest_goes_on(dynamics, probe, bend):
    def named(words):
        return [each in probe.statuses("d/dynamics").message for each in words]

    words = bend(dynamics)
    wait_until(lambda: all(named(words)), 8, lambda: f"all of {words} in {probe.statuses('d/dynamics')}")
    p = fresh(probe, "/d/predicted_state").pose.pose.position
    assert math.hypot(p.x, p.y) < 0.02 and 0.1 < p.z < 0.13
    dynamics.joints.position, dynamics.commands.position = STANDING.tolist(), STANDING.tolist()
    dynamics.age, dynamics.muted = 0, {"second"}
    fill_rotation(dynamics.imu.orientation, ROBOT.imu.rotation)
    wait_until(
        lambda: not any(named(words)) and probe.statuses("d/dynamics").level != DiagnosticStatus.ERROR,
        12,
        lambda: f"all is well again but {probe.statuses('d/dynamics')}",
    )


def test_a_change_of_morphology_is_in_the_next_prediction(dynamics, probe):
    told = time.monotonic()
    dynamics.tell(Morphology.whole(ROBOT).without("RM").parameters())
    wait_until(lambda: len(probe.last("/d/feedforward_torques").name) == 15, 5, "fifteen joints are left")
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
        lambda: len(probe.last("/d/feedforward_torques").name) == 17,
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
    wait_until(lambda: heard[-1][0] > begin + 2.0, 10, "it predicts")
    stamps = [stamp_seconds(m.header.stamp) for at, m in list(heard) if begin + 0.5 < at < begin + 2.0]
    assert 45.0 < (len(stamps) - 1) / (stamps[-1] - stamps[0]) < 55.0
    assert np.median(np.diff(stamps)) == pytest.approx(0.02, abs=0.002)
