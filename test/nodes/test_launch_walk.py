"""What this package is for: two legs are torn off the launched robot, nobody tells it, and it walks on and gets up.

Before, the prediction walks along and each topic has what it promises, with real processes over real DDS.

One session serves all tests of this file; they run in the order in which they stand.
"""

import math
import re
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.launched_robot import Launched
from support.machine_load import OVERSLEPT, on_a_free_machine, sleep_and_measure
from support.ros_session import LATCHED, NEWEST

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Quaternion
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from nav_msgs.msg import Odometry, Path
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

GAP = 0.08  # [s] between messages: a machine that leaves as much is busy
LINKS = set(LinkTree(ROBOT).children)
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT_DESCRIPTION_RATE = 50.0  # [1/s]
COMMANDED = 0.077  # [m/s], the launch file's default
CYCLE = 1.5755  # [s] without RM and LM the body goes and stops in each
# By how much truth and prediction may come apart: share of the way walked, [deg].
DRIFT, TURNED = 0.03, 2.0
# Height [m]: what half a degree of a slope that is not there makes of it, as the noise of an IMU lets it be learnt, and
# the sway of the body.
CLIMBED = 0.03


class Track:
    """Poses of an Odometry topic since a monotonic time as arrays."""

    def __init__(self, heard, since):
        messages = [m for at, m in list(heard) if since <= at]
        self.time = np.array([stamp_seconds(m.header.stamp) for m in messages])
        points = [m.pose.pose.position for m in messages]
        turns = [m.pose.pose.orientation for m in messages]
        self.position = np.array([[p.x, p.y, p.z] for p in points]).reshape(-1, 3)
        self.rotation = np.array([rotation_from_quaternion((o.x, o.y, o.z, o.w)) for o in turns]).reshape(-1, 3, 3)
        self.euler = np.array([euler_zyx(r) for r in self.rotation])  # yaw without leaps, pitch, roll (T, 3) [rad]
        self.euler[:, 0] = np.unwrap(self.euler[:, 0])

    def at(self, times):
        """Positions (T, 3) and Euler angles (T, 3) at other times, interpolated."""
        return (
            np.column_stack([np.interp(times, self.time, column) for column in self.position.T]),
            np.column_stack([np.interp(times, self.time, column) for column in self.euler.T]),
        )

    @property
    def speed(self):
        """Speed [m/s] along the heading at the start: the slope of a straight line, since the body sways."""
        heading = self.euler[0, 0]
        along = self.position[:, :2] @ np.array([math.cos(heading), math.sin(heading)])
        return float(np.polyfit(self.time - self.time[0], along, 1)[0])


class Transforms:
    """What is heard of /tf and /tf_static until `close`, by child frame: parents, stamps [s] and arrivals [s]."""

    def __init__(self, node):
        self.moving, self.fixed, self._node = {}, {}, node
        self._subscriptions = [
            node.create_subscription(TFMessage, "/tf", lambda message: self._add(self.moving, message), 100),
            node.create_subscription(TFMessage, "/tf_static", lambda message: self._add(self.fixed, message), STATIC),
        ]

    @staticmethod
    def _add(edges, message):
        for transform in message.transforms:
            new = SimpleNamespace(parents=set(), stamps=[], arrivals=[])
            edge = edges.setdefault(transform.child_frame_id, new)
            edge.parents.add(transform.header.frame_id)
            edge.stamps.append(stamp_seconds(transform.header.stamp))
            edge.arrivals.append(time.monotonic())

    def close(self):
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)


class Walker(Launched):
    """The launched robot and what is heard of it."""

    def __init__(self, probe):
        super().__init__(probe)
        self.watched = self.transforms = None
        hear = probe.hear
        self.predicted = hear(Odometry, "predicted_state", NEWEST, keep=6000)
        self.torques = hear(JointState, "feedforward_torques", NEWEST, keep=6000)
        self.path = hear(Path, "predicted_path", NEWEST, keep=100)
        self.true_joints = hear(JointState, "simulator/joint_states", NEWEST, keep=10)
        self.states = hear(DiagnosticStatus, "gait_state", LATCHED, keep=200)
        self.attitude = probe.node.create_publisher(Quaternion, "simulator/set_attitude", 1)

    def stretch(self, seconds, judge, again=False):
        """Judge what is heard of truth and prediction in a stretch of time: judge(truth, predicted) asserts.

        again: first what was watched last is judged by this judge, too.
        A machine that is busy with other things makes nodes late, and then robot and prediction differ.
        """
        before = self.watched if again else None

        def attempt():
            nonlocal before
            tracks, before = before or self._watch(seconds), None
            return judge(*tracks)

        def is_busy():
            gap = max(float(np.diff(track.time).max(initial=0.0)) for track in self.watched)
            return self.overslept > OVERSLEPT or gap > GAP or self._overloaded(seconds)

        return on_a_free_machine(attempt, is_busy)

    def _watch(self, seconds):
        """Let time pass; return what was heard of truth and prediction meanwhile."""
        start, self.transforms = time.monotonic(), Transforms(self.probe.node)
        self.overslept = sleep_and_measure(seconds)
        self.transforms.close()
        self.watched = Track(self.truth, start), Track(self.predicted, start)
        return self.watched

    def _overloaded(self, seconds):
        """Whether `dynamics` has said in the last seconds that the machine is too busy for its predictions."""
        since = time.monotonic() - seconds - 1.0
        statuses = [s for at, m in list(self.statuses.heard) if at > since for s in m.status]
        return any(s.name == "dynamics" and "too busy" in s.message for s in statuses)

    @property
    def says(self):
        return self.states[-1][1].message if self.states else ""

    @property
    def upright(self):
        """Upward component of the body's z axis."""
        o = self.truth[-1][1].pose.pose.orientation
        return 1.0 - 2.0 * (o.x**2 + o.y**2)

    def bent(self, seconds):
        """How far joints move within so many seconds [rad]."""
        before = np.array(self.true_joints[-1][1].position)
        time.sleep(seconds)
        return np.abs(np.array(self.true_joints[-1][1].position) - before).max()


@pytest.fixture(scope="module")
def robot(probe):
    """The launched robot, which walks by itself."""
    robot = Walker(probe)
    try:
        robot.wait(lambda: robot.truth and robot.predicted, 90, "truth and prediction are published")
        robot.wait(lambda: robot.speed() > 0.05, 60, "it walks")
        time.sleep(2.0)
        yield robot
    finally:
        robot.close()


def drift(truth, predicted):
    """How prediction and truth come apart in a stretch: x and y (T,) [m], height (T,) [m], attitude (T,) [rad].

    Both are taken from where the stretch begins: what an earlier stall of this machine has left of place and heading is
    not this stretch's. Attitude is compared in Euler angles, interpolated; they are small but for yaw.
    """
    inside = (predicted.time >= truth.time[0]) & (predicted.time <= truth.time[-1])
    position, euler = truth.at(predicted.time[inside])
    true, foretold = position - position[0], predicted.position[inside] - predicted.position[inside][0]
    turns = euler - predicted.euler[inside]
    cos, sin = math.cos(turns[0, 0]), math.sin(turns[0, 0])
    flat = foretold[:, :2] @ np.array([[cos, sin], [-sin, cos]])
    turns[:, 0] -= turns[0, 0]
    along, height = np.linalg.norm(true[:, :2] - flat, axis=1), np.abs(true[:, 2] - foretold[:, 2])
    return along, height, np.linalg.norm(turns, axis=1)


def test_it_walks_straight_at_the_commanded_speed_and_the_prediction_walks_along(robot):
    def judge(truth, predicted):
        # Drift is taken along and across the heading at the start.
        position, euler = truth.at(truth.time[[0, -1]])
        across = np.array([-math.sin(euler[0, 0]), math.cos(euler[0, 0])])
        assert truth.speed == pytest.approx(COMMANDED, rel=0.05)
        assert abs((position[1, :2] - position[0, :2]) @ across) < 0.015
        assert abs(math.degrees(euler[1, 0] - euler[0, 0])) < 2.0
        along, height, turns = drift(truth, predicted)
        assert np.hypot(along, height).max() < 0.02
        assert np.degrees(turns).max() < 1.0

    robot.stretch(10.0, judge)


def test_predictions_come_at_100_hertz(robot):
    def judge(_, predicted):
        # The promise is 100 +- 5 on a machine of its own; one that is busy with other things loses some more.
        assert 80 < predicted.time.size / np.ptp(predicted.time) < 105
        assert (np.diff(predicted.time) > 0).all()

    robot.stretch(5.0, judge, again=True)


def test_the_path_starts_now_and_ends_half_a_second_ahead_where_the_robot_then_is(robot):
    def judge(truth, predicted):
        first, latest = max(truth.time[0], truth.time[-1] - 3.0), truth.time[-1] - 0.6
        heard = [m for _, m in list(robot.path) if first < stamp_seconds(m.header.stamp) < latest]
        assert len(heard) >= 5
        off = predicted.position[-1] - truth.at(predicted.time[-1:])[0][0]  # what earlier stretches have left
        misses = []
        for message in heard:
            ends = stamp_seconds(message.poses[-1].header.stamp)
            assert ends - stamp_seconds(message.header.stamp) == pytest.approx(0.5, abs=0.02)
            p = message.poses[-1].pose.position
            misses.append(np.linalg.norm(truth.at([ends])[0][0] + off - [p.x, p.y, p.z]))
        assert np.quantile(misses, 0.9) < 0.02, misses

    robot.stretch(3.0, judge, again=True)


def test_every_frame_has_one_parent_and_hangs_on_odom(robot):
    def judge(_truth, _predicted):
        moving, fixed = robot.transforms.moving, robot.transforms.fixed
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

    robot.stretch(3.0, judge, again=True)


def test_stamps_of_frames_go_forward_at_an_even_rate_and_arrive_at_once(robot):
    def judge(truth, _predicted):
        for child, edge in robot.transforms.moving.items():
            steps, watched = np.diff(edge.stamps), truth.time[-1] - edge.stamps[0]
            assert watched > np.ptp(truth.time) - 2.0, f"{child} comes late"  # 1 s until it is discovered
            assert (steps > 0.0).all(), f"{child}: a stamp goes back or comes twice"
            assert len(edge.stamps) > 0.9 * watched / np.median(steps), f"{child}: gaps of up to {steps.max():.3f} s"
            even = np.mean(np.abs(steps - np.median(steps)) < 0.5 * np.median(steps))
            assert even > 0.9, f"{child}: {100 * even:.0f} % of the steps are even"
            assert np.median(np.diff(edge.arrivals)) == pytest.approx(np.median(steps), rel=0.1)
        for link in (*LINKS, "base_footprint"):
            steps = np.diff(robot.transforms.moving[link].stamps)
            assert np.median(steps) == pytest.approx(1.0 / ROBOT_DESCRIPTION_RATE, rel=0.1)

    robot.stretch(5.0, judge, again=True)


def test_two_legs_are_torn_off_and_it_finds_out_and_walks_on_and_so_does_the_prediction(robot):
    def walks_on(truth, predicted):
        """The body sways by some centimetres in each cycle: over 8 s the speed is known to 3 %."""
        assert truth.speed > 0.9 * COMMANDED
        euler = np.degrees(truth.euler)
        assert abs(euler[-1, 0] - euler[0, 0]) < 3.0
        assert np.abs(euler[:, 1:]).max() < 5.0
        along, height, turns = (gap.max() for gap in drift(truth, predicted))
        assert along < DRIFT * COMMANDED * (truth.time[-1] - truth.time[0]), (along, height, turns)
        assert height < CLIMBED, (along, height, turns)
        assert np.degrees(turns) < TURNED

    robot.truth.clear()
    assert robot.probe.set("simulator/set_damage", {"legs.RM": False, "legs.LM": False}) == (True, "")
    robot.wait(lambda: {"RM", "LM"} <= robot.lost(), 20, "the loss is declared")
    declared = time.monotonic()
    robot.wait(lambda: len(robot.torques[-1][1].name) == 12, 5, "torques are for the joints that are left")
    assert time.monotonic() - declared < 2.0
    accepted, reason = robot.probe.set("simulator/set_damage", {"links.LM.tibia": True})
    assert not accepted and "restore LM" in reason
    robot.wait(lambda: robot.speed(3 * CYCLE) > 0.9 * COMMANDED, 30, "it walks on")
    turns = [m.pose.pose.orientation for _, m in list(robot.truth)]
    assert max(2.0 * np.hypot(o.x, o.y) for o in turns) < np.radians(30.0)  # nothing flips
    robot.stretch(8.0, walks_on)
    shown = re.compile(r"\d cm/s .* prediction \S+ cm off \| missing: LM RM")
    robot.wait(lambda: shown.search(robot.launch.output), 10, "the status line has it")


def stop(*words):
    """The command of the page; it returns when the nodes have answered."""
    done = subprocess.run(["ros2", "run", "hexapod_dynamics", "stop", *words], timeout=60, check=False)
    assert done.returncode == 0


def test_the_stop_command_stops_it_and_it_stays_stopped(robot):
    stop()
    time.sleep(1.0)
    robot.statuses.heard.clear()  # what was suspected of a robot that walked is another matter
    assert robot.moved(1.5 * CYCLE) < 0.002 * 1.5 * CYCLE
    # `dynamics` knows that the commands are not executed, and takes no joint that holds for a contradiction.
    said = [status for _, array in list(robot.statuses.heard) for status in array.status]
    words = [status.message for status in said if status.name in ("dynamics", "damage_detector")]
    assert words and not any("contradict" in one or "suspects" in one for one in words), words
    stop("--resume")
    robot.wait(lambda: robot.speed() > 0.3 * COMMANDED, 30, "it walks on")


def test_on_its_back_it_gets_up_but_for_an_emergency_stop_which_lasts_until_it_is_asked(robot):
    tones = robot.probe.hear(Bool, "buzzer")
    robot.attitude.publish(Quaternion(x=1.0, w=0.0))
    robot.wait(lambda: robot.upright < -0.9, 10, "it lies on its back")
    robot.wait(lambda: "about to get up" in robot.says, 10, "it announces it")
    robot.wait(lambda: "turning over" in robot.says, 30, "it turns over")
    assert robot.probe.call(SetBool, "emergency_stop", SetBool.Request(data=True)).success
    time.sleep(0.3)
    assert robot.bent(2.0) < 0.02
    assert robot.probe.call(SetBool, "emergency_stop", SetBool.Request(data=False)).success
    assert robot.bent(3.0) < 0.02
    assert "stopped" in robot.says
    tones.clear()
    answer = robot.probe.call(Trigger, "get_up", Trigger.Request())
    assert answer.success, answer.message
    robot.wait(lambda: "turning over" in robot.says and robot.bent(0.5) > 0.1, 30, "it goes on getting up")
    robot.wait(lambda: "upright after a fall" in robot.says, 60, "it stands")
    assert [message.data for _, message in tones][:2] == [True, False]
    assert robot.upright > 0.95


def test_upright_again_it_walks_when_it_is_told(robot):
    assert robot.bent(1.0) < 0.05  # it stands until it is told
    robot.drive(0.0)
    time.sleep(0.3)
    robot.drive(0.07)
    robot.wait(lambda: robot.truth[-1][1].twist.twist.linear.x > 0.04, 20, "it walks")
    robot.drive(None)
    answer = robot.probe.call(Trigger, "get_up", Trigger.Request())
    assert not answer.success and "not fallen" in answer.message


def test_it_sits_down_and_lets_go_and_no_node_has_ended(robot):
    def sits_down():
        answer = robot.probe.call(SetBool, "servos/torque", SetBool.Request(data=False))
        # After a stop, nothing moves before every joint is measured anew.
        assert answer.success or "ask again in a second" in answer.message, answer
        return answer.success and "sitting down" in answer.message

    robot.wait(sits_down, 10, "it sits down")
    robot.wait(lambda: robot.height < 0.04, 20, "it sits")
    robot.statuses.says("servos", "torque is off", 20)
    assert "Traceback" not in robot.launch.output and "process has died" not in robot.launch.output, robot.launch.output
