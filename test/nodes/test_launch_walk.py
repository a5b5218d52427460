"""The launch file itself, with real processes over real DDS: it walks, loses nodes, is broken, is told, ends.

One session serves all tests of this file; they run in the order in which they stand.
"""

import math
import os
import signal
import time
from functools import partial

import numpy as np
import psutil
import pytest
from support.launched_robot import Launched
from support.machine_load import OVERSLEPT, on_a_free_machine, sleep_and_measure
from support.ros_session import NEWEST

from geometry_msgs.msg import Twist
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from nav_msgs.msg import Odometry, Path
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

NODES = {"imu", "servos", "gait", "dynamics", "companions", "simulator"}  # one process each
KEPT = 6000
GAP = 0.08  # [s] between messages: a machine that leaves as much is busy
ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


class Track:
    """Poses of an Odometry topic as arrays."""

    def __init__(self, heard, since=-math.inf, until=math.inf):
        messages = [m for at, m in list(heard) if since <= at <= until]
        self.time = np.array([stamp_seconds(m.header.stamp) for m in messages])
        points = [m.pose.pose.position for m in messages]
        turns = [m.pose.pose.orientation for m in messages]
        self.position = np.array([[p.x, p.y, p.z] for p in points]).reshape(-1, 3)
        self.rotation = np.array([rotation_from_quaternion((o.x, o.y, o.z, o.w)) for o in turns]).reshape(-1, 3, 3)

    @property
    def euler(self):
        """Yaw without leaps, pitch, roll (T, 3) [rad]."""
        angles = np.array([euler_zyx(r) for r in self.rotation])
        angles[:, 0] = np.unwrap(angles[:, 0])
        return angles

    def at(self, times):
        """Positions (T, 3) and Euler angles (T, 3) at other times, interpolated."""
        euler = self.euler
        return (
            np.column_stack([np.interp(times, self.time, column) for column in self.position.T]),
            np.column_stack([np.interp(times, self.time, column) for column in euler.T]),
        )


LINKS = set(LinkTree(ROBOT).children)
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT_DESCRIPTION_RATE = 50.0  # [1/s]


class Edge:
    """The transforms of one child frame: its parents, and the stamps [s] and arrivals [s] of the messages."""

    def __init__(self):
        self.parents, self.stamps, self.arrivals = set(), [], []


class Transforms:
    """What is heard of /tf and /tf_static until `close`, by child frame."""

    def __init__(self, node):
        self.moving, self.fixed, self._node = {}, {}, node
        self._subscriptions = [
            node.create_subscription(TFMessage, "/tf", lambda message: self._add(self.moving, message), 100),
            node.create_subscription(TFMessage, "/tf_static", lambda message: self._add(self.fixed, message), STATIC),
        ]

    @staticmethod
    def _add(edges, message):
        for transform in message.transforms:
            edge = edges.setdefault(transform.child_frame_id, Edge())
            edge.parents.add(transform.header.frame_id)
            edge.stamps.append(stamp_seconds(transform.header.stamp))
            edge.arrivals.append(time.monotonic())

    def close(self):
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)


COMMANDED = 0.077  # [m/s], the launch file's default
# By how much truth and prediction may come apart: share of the way walked, [deg].
DRIFT, TURNED = 0.03, 2.0
# Height [m]: what half a degree of a slope that is not there makes of it, as the noise of an IMU lets it be learnt, and
# the sway of the body.
CLIMBED = 0.03


class Session(Launched):
    """The launched robot and what is heard of it."""

    def __init__(self, probe):
        super().__init__(probe, "get_up:=asked", "detect:=off")  # damage is told; else: test_launch_walks_on.py
        self.watched = self.transforms = None
        self.predicted = self.probe.hear(Odometry, "predicted_state", NEWEST, keep=KEPT)
        self.measured = self.probe.hear(JointState, "joint_states", NEWEST, keep=KEPT)
        self.joints = self.probe.hear(JointState, "predicted_joint_states", NEWEST, keep=KEPT)
        self.torques = self.probe.hear(JointState, "feedforward_torques", NEWEST, keep=KEPT)
        self.commands = self.probe.hear(JointState, "joint_commands", NEWEST, keep=KEPT)
        self.path = self.probe.hear(Path, "predicted_path", NEWEST, keep=100)
        self._velocity, self._stick = self.probe.node.create_publisher(Twist, "cmd_vel", 10), None

    def watch(self, seconds):
        """Let time pass; return what was heard of truth and prediction meanwhile."""
        start, self.transforms = time.monotonic(), Transforms(self.probe.node)
        self.overslept = sleep_and_measure(seconds)
        self.transforms.close()
        self.watched = Track(self.truth, start), Track(self.predicted, start)
        return self.watched

    def stretch(self, seconds, judge, again=False):
        """Judge what is heard in a stretch of time: judge(truth, predicted) asserts.

        again: first what was watched last is judged by this judge, too.
        A machine that is busy with other things makes nodes late, and then robot and prediction differ.
        """
        before = self.watched if again else None

        def attempt():
            nonlocal before
            tracks, before = before or self.watch(seconds), None
            return judge(*tracks)

        def is_busy():
            gap = max(float(np.diff(track.time).max(initial=0.0)) for track in self.watched)
            return self.overslept > OVERSLEPT or gap > GAP or self.overloaded(seconds)

        return on_a_free_machine(attempt, is_busy)

    def drive(self, forward):
        """Command a forward speed [m/s] ten times a second from now on; None: nothing."""
        twist = Twist()
        twist.linear.x = forward or 0.0
        if self._stick is not None:
            self.probe.node.destroy_timer(self._stick)
        publish = partial(self._velocity.publish, twist)
        self._stick = None if forward is None else self.probe.node.create_timer(0.1, publish)

    def overloaded(self, seconds):
        """Whether `dynamics` has said in the last seconds that the machine is too busy for its predictions."""
        since = time.monotonic() - seconds - 1.0
        statuses = [s for at, m in list(self.statuses.heard) if at > since for s in m.status]
        return any(s.name == "dynamics" and "too busy" in s.message for s in statuses)

    def process(self, name):
        """The process of a node, found by its place below the launch process."""
        for process in psutil.Process(self.launch.pid).children(recursive=True):
            try:
                words = process.cmdline()
                if f"__node:={name}" in words or any(word.endswith(f"/hexapod_dynamics/{name}") for word in words):
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def pid(self, name):
        """Process number of a node; None while it does not run."""
        process = self.process(name)
        return process.pid if process else None

    def pids(self):
        return {name: self.pid(name) for name in NODES}


@pytest.fixture(scope="module")
def session(probe):
    session = Session(probe)
    try:
        session.wait(lambda: session.truth and session.predicted, 90, "truth and prediction are published")
        yield session
    finally:
        session.close()


def difference(truth, predicted):
    """How position (T,) [m] and attitude (T,) [rad] come apart over a stretch, at the times of the predictions.

    The gaps are taken from where the stretch begins: what an earlier stall of this machine has left behind is not this
    stretch's. Attitude is compared in Euler angles, interpolated; they are small but for yaw.
    """
    inside = (predicted.time >= truth.time[0]) & (predicted.time <= truth.time[-1])
    position, euler = truth.at(predicted.time[inside])
    apart = position - predicted.position[inside]
    turns = euler - predicted.euler[inside]
    turns[:, 0] -= turns[0, 0]
    return np.linalg.norm(apart - apart[0], axis=1), np.linalg.norm(turns, axis=1)


def drift(truth, predicted):
    """How prediction and truth come apart in a stretch: x and y (T,) [m], height (T,) [m], attitude (T,) [rad].

    As in `difference`, what an earlier stretch has left of place and heading is not this one's.
    """
    inside = (predicted.time >= truth.time[0]) & (predicted.time <= truth.time[-1])
    position, euler = truth.at(predicted.time[inside])
    true, foretold = position - position[0], predicted.position[inside] - predicted.position[inside][0]
    yaw = euler[0, 0] - predicted.euler[inside][0, 0]
    cos, sin = math.cos(yaw), math.sin(yaw)
    flat = foretold[:, :2] @ np.array([[cos, sin], [-sin, cos]])
    turns = difference(truth, predicted)[1]
    return np.linalg.norm(true[:, :2] - flat, axis=1), np.abs(true[:, 2] - foretold[:, 2]), turns


def speed_of(track):
    """Speed [m/s] of a Track along the heading at its start: the slope of a straight line, since the body sways."""
    heading = track.euler[0, 0]
    along = track.position[:, :2] @ np.array([math.cos(heading), math.sin(heading)])
    return float(np.polyfit(track.time - track.time[0], along, 1)[0])


@pytest.fixture
def walking(session):
    """The session of a robot that has walked for some seconds, whichever tests ran before."""
    if session.speed() < 0.05:
        session.wait(lambda: session.speed() > 0.05, 60, "it walks")
        time.sleep(2.0)
    return session


def test_it_walks_straight_at_the_commanded_speed_and_the_prediction_walks_along(walking):
    def judge(truth, predicted):
        # Drift is taken along and across the heading at the start.
        position, euler = truth.at(truth.time[[0, -1]])
        across = np.array([-math.sin(euler[0, 0]), math.cos(euler[0, 0])])
        assert speed_of(truth) == pytest.approx(COMMANDED, rel=0.05)
        assert abs((position[1, :2] - position[0, :2]) @ across) < 0.015
        assert abs(math.degrees(euler[1, 0] - euler[0, 0])) < 2.0
        gaps, turns = difference(truth, predicted)
        assert gaps.max() < 0.02
        assert np.degrees(turns).max() < 1.0

    walking.stretch(10.0, judge)


def test_predictions_come_at_100_hertz(session):
    def judge(_, predicted):
        # The promise is 100 +- 5 on a machine of its own; one that is busy with other things loses some more.
        assert 80 < predicted.time.size / np.ptp(predicted.time) < 105
        assert (np.diff(predicted.time) > 0).all()

    session.stretch(5.0, judge, again=True)


def test_the_path_starts_now_and_ends_half_a_second_ahead_where_the_robot_then_is(walking):
    def judge(truth, predicted):
        first, latest = max(truth.time[0], truth.time[-1] - 3.0), truth.time[-1] - 0.6
        heard = [m for _, m in list(walking.path) if first < stamp_seconds(m.header.stamp) < latest]
        assert len(heard) >= 5
        off = predicted.position[-1] - truth.at(predicted.time[-1:])[0][0]  # what earlier stretches have left
        misses = []
        for message in heard:
            ends = stamp_seconds(message.poses[-1].header.stamp)
            assert ends - stamp_seconds(message.header.stamp) == pytest.approx(0.5, abs=0.02)
            p = message.poses[-1].pose.position
            misses.append(np.linalg.norm(truth.at([ends])[0][0] + off - [p.x, p.y, p.z]))
        assert np.quantile(misses, 0.9) < 0.02, misses

    walking.stretch(3.0, judge, again=True)


def feet_force(model, joints, torques):
    """Vertical force (N) of the ground on all feet that holds these joint torques, links at rest: J^T f = g - tau."""
    q, tau = np.array(joints.position), np.array(torques.effort)
    gravity = model.gravity_force(np.eye(3), q, WHOLE)
    total = 0.0
    for k, leg in enumerate(ROBOT.legs):
        columns = slice(6 + 3 * k, 9 + 3 * k)
        tip = np.array([leg.links[-1].length, 0.0, 0.0])
        jacobian = model.point_jacobian(f"{leg.name}.{leg.links[-1].name}", tip, q, WHOLE)[:, columns]
        total += np.linalg.solve(jacobian.T, gravity[columns] - tau[3 * k : 3 * k + 3])[2]
    return total


def test_torques_carry_the_robots_weight(walking):
    model = WholeBodyModel(ROBOT)
    weight = ROBOT.gravity * (ROBOT.body.mass + sum(link.mass for leg in ROBOT.legs for link in leg.links))

    def judge(_truth, _predicted):
        joints = {stamp_seconds(m.header.stamp): m for _, m in list(walking.joints)[-200:]}
        pairs = [(joints.get(stamp_seconds(m.header.stamp)), m) for _, m in list(walking.torques)[-200:]]
        pairs = [(state, torques) for state, torques in pairs if state is not None]
        assert len(pairs) > 50
        for _, message in pairs:
            assert len(message.name) == len(message.effort) == 18
            assert not len(message.position) and not len(message.velocity)
            assert np.abs(message.effort).max() < ROBOT.servo.torque_limit
        forces = [feet_force(model, *pair) for pair in pairs]
        assert np.mean(forces) == pytest.approx(weight, rel=0.1)
        assert np.min(forces) > 0.5 * weight

    walking.stretch(2.0, judge, again=True)


def test_every_frame_has_one_parent_and_hangs_on_odom(walking):
    def judge(_truth, _predicted):
        moving, fixed = walking.transforms.moving, walking.transforms.fixed
        assert not set(moving) & set(fixed)
        parents = {}
        for child, edge in (moving | fixed).items():
            assert len(edge.parents) == 1, f"{child} hangs on {edge.parents}"
            parents[child] = next(iter(edge.parents))
        assert set(parents) >= LINKS | {f"predicted/{link}" for link in LINKS} | {"base_link", "base_footprint"}
        for child in parents:
            chain, seen = child, set()
            while chain in parents:
                assert chain not in seen, f"{child} hangs on itself"
                seen.add(chain)
                chain = parents[chain]
            assert chain == "odom", f"{child} hangs on {chain}"

    walking.stretch(3.0, judge, again=True)


def test_stamps_of_frames_go_forward_at_an_even_rate_and_arrive_at_once(walking):
    def judge(truth, _predicted):
        for child, edge in walking.transforms.moving.items():
            steps, watched = np.diff(edge.stamps), truth.time[-1] - edge.stamps[0]
            assert watched > np.ptp(truth.time) - 2.0, f"{child} comes late"  # 1 s until it is discovered
            assert (steps > 0.0).all(), f"{child}: a stamp goes back or comes twice"
            assert len(edge.stamps) > 0.9 * watched / np.median(steps), f"{child}: gaps of up to {steps.max():.3f} s"
            even = np.mean(np.abs(steps - np.median(steps)) < 0.5 * np.median(steps))
            assert even > 0.9, f"{child}: {100 * even:.0f} % of the steps are even"
            assert np.median(np.diff(edge.arrivals)) == pytest.approx(np.median(steps), rel=0.1)
        for link in (*LINKS, "base_footprint"):
            steps = np.diff(walking.transforms.moving[link].stamps)
            assert np.median(steps) == pytest.approx(1.0 / ROBOT_DESCRIPTION_RATE, rel=0.1)

    walking.stretch(5.0, judge, again=True)


@pytest.mark.parametrize(
    "name, stops",
    [
        ("gait", True),
        ("companions", False),
        ("dynamics", False),
        ("imu", False),
        ("servos", True),
        ("simulator", True),
    ],
)
def test_a_killed_node_takes_no_other_along_and_rejoins(session, name, stops):
    session.wait(lambda: all(session.pids().values()), 20, "all nodes run")
    before, place, killed = session.pids(), Track(session.predicted).position[-1], time.monotonic()
    os.kill(before[name], signal.SIGKILL)
    if stops:
        session.wait(lambda: session.speed() < 0.02, 5, f"without {name} it stands")
    session.wait(lambda: session.pid(name) not in (None, before[name]), 20, f"{name} runs again")
    session.wait(lambda: session.speed() > 0.05, 40, f"it walks again after {name} came back")
    session.wait(lambda: session.predicted and time.monotonic() - session.predicted[-1][0] < 0.5, 30, "it is predicted")
    if name == "dynamics":  # odom goes on where it was, up to a second of walking ago
        first = Track(session.predicted, killed + 0.5).position[0]
        assert np.linalg.norm(first - place) < 0.25
    after = session.pids()
    assert {n for n in NODES if after[n] != before[n]} == {name}


def test_a_stopped_robot_stays_stopped_whatever_is_killed(session):
    session.drive(COMMANDED)
    session.wait(lambda: session.speed() > 0.05, 40, "it walks")
    session.drive(0.0)
    session.wait(lambda: session.speed() < 0.005, 20, "it is stopped")
    session.drive(None)
    before = session.pids()
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    session.wait(lambda: all(session.pids()[n] not in (None, before[n]) for n in NODES), 60, "all nodes run again")
    session.truth.clear()
    session.wait(lambda: session.truth and session.commands[-1][0] > session.truth[0][0], 120, "the robot is back")
    session.measured.clear()
    session.wait(lambda: session.measured and len(session.measured[-1][1].name) == 18, 60, "the servos are alive")
    since = time.monotonic()
    track, _ = session.watch(3.0)
    assert np.linalg.norm(track.position[-1, :2] - track.position[0, :2]) < 0.01
    for heard, least, within in ((session.commands, 10, 1e-6), (session.measured, 10, 0.02)):
        poses = np.array([m.position for at, m in list(heard) if at > since and len(m.name) == 18])
        assert len(poses) >= least
        assert np.ptp(poses, axis=0).max() < within, "no joint is commanded to move, and none moves"


def walks_on(truth, predicted):
    """It walks on straight as fast as commanded, and the prediction walks along.

    The body sways by some centimetres in each cycle: over 8 s the speed is known to 3 %.
    """
    assert speed_of(truth) > 0.9 * COMMANDED
    euler = np.degrees(truth.euler)
    assert abs(euler[-1, 0] - euler[0, 0]) < 3.0
    assert np.abs(euler[:, 1:]).max() < 5.0
    along, height, turns = (np.asarray(gap).max() for gap in drift(truth, predicted))
    assert along < DRIFT * COMMANDED * (truth.time[-1] - truth.time[0]), (along, height, turns)
    assert height < CLIMBED, (along, height, turns)
    assert np.degrees(turns) < TURNED


def test_told_that_two_legs_are_gone_it_walks_on_and_so_does_the_prediction(session):
    session.drive(COMMANDED)
    session.wait(lambda: session.speed() > 0.05, 40, "told to, it walks again")
    time.sleep(2.0)
    before = session.pids()
    for service in ("simulator/set_damage", "set_morphology"):
        assert session.probe.set(service, {"legs.RM": False, "legs.LM": False}) == (True, "")
    told = time.monotonic()
    session.wait(lambda: len(session.torques[-1][1].name) == 12, 5, "torques are for the joints that are left")
    assert time.monotonic() - told < 2.0
    time.sleep(3.0)
    session.stretch(8.0, walks_on)
    assert session.pids() == before


def test_damage_that_cannot_be_is_refused_by_the_simulated_robot(session):
    accepted, reason = session.probe.set("simulator/set_damage", {"links.LM.tibia": True})
    assert not accepted and "restore LM" in reason


def test_ctrl_c_ends_everything_within_three_seconds_quietly(session):
    children = psutil.Process(session.launch.pid).children(recursive=True)
    took, _ = session.launch.interrupt()
    assert took < 3.0
    gone, alive = psutil.wait_procs(children, timeout=0.5)
    assert not alive
    assert "Traceback" not in session.launch.output
