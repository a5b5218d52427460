"""The launch file itself, with real processes over real DDS: it walks, is broken, is told, loses nodes, ends.

One session serves all tests of this file; they run in the order in which they stand.
"""

import math
import os
import signal
import time

import numpy as np
import psutil
import pytest
from ros_session import NEWEST, Probe, Process, separate, wait_until

from hexapod_dynamics.estimation.attitude import euler_zyx, rotation_from_quaternion
from hexapod_dynamics.nodes.common import stamp_seconds
from nav_msgs.msg import Odometry, Path
from sensor_msgs.msg import JointState

NODES = {'imu', 'servos', 'gait', 'dynamics', 'damage_manager', 'simulator'}
KEPT = 6000


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
        return (np.column_stack([np.interp(times, self.time, column) for column in self.position.T]),
                np.column_stack([np.interp(times, self.time, column) for column in euler.T]))


class Session:
    """The launched robot and what is heard of it."""

    def __init__(self, *arguments):
        self.probe = Probe()
        self.truth = self.probe.hear(Odometry, 'simulator/odom', NEWEST, keep=KEPT)
        self.predicted = self.probe.hear(Odometry, 'predicted_state', NEWEST, keep=KEPT)
        self.measured = self.probe.hear(JointState, 'joint_states', NEWEST, keep=KEPT)
        self.torques = self.probe.hear(JointState, 'feedforward_torques', NEWEST, keep=KEPT)
        self.path = self.probe.hear(Path, 'predicted_path', NEWEST, keep=100)
        self.launch = Process('ros2', 'launch', 'hexapod_dynamics', 'walk.launch.py', *arguments)

    def wait(self, condition, timeout, what):
        return wait_until(condition, timeout, lambda: f'{what}\n{self.launch.output[-4000:]}')

    def watch(self, seconds):
        """Let time pass; return what was heard of truth and prediction meanwhile."""
        start = time.monotonic()
        time.sleep(seconds)
        return Track(self.truth, start), Track(self.predicted, start)

    def stretch(self, seconds, judge):
        """Judge what is heard in a stretch of time: judge(truth, predicted) asserts.

        A machine that is busy with other things makes nodes late, and then robot and prediction differ: of at most four
        stretches one must pass.
        """
        for attempt in range(4):
            tracks = self.watch(seconds)
            try:
                return judge(*tracks)
            except (AssertionError, IndexError):
                if attempt == 3:
                    raise

    def process(self, name):
        """The process of a node, found by its place below the launch process."""
        for process in psutil.Process(self.launch.pid).children(recursive=True):
            try:
                if f'__node:={name}' in process.cmdline():
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

    def nodes(self):
        return set(self.probe.node.get_node_names())

    def speed(self):
        """Forward speed of the truth over the last second heard."""
        now = time.monotonic()
        track = Track(self.truth, now - 1.0)
        if track.time.size < 10:
            return 0.0
        return float(np.linalg.norm(track.position[-1, :2] - track.position[0, :2]) / (track.time[-1] - track.time[0]))


@pytest.fixture(scope='module')
def session():
    separate()
    session = Session()
    try:
        session.wait(lambda: session.truth and session.predicted, 90, 'truth and prediction are published')
        yield session
    finally:
        session.launch.end()
        session.probe.close()


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


def test_six_nodes_run(session):
    session.wait(lambda: session.nodes() >= NODES, 30, 'all six nodes are seen')


def test_it_walks_straight_at_the_papers_speed_and_the_prediction_walks_along(session):
    session.wait(lambda: session.speed() > 0.05, 60, 'it walks')
    time.sleep(2.0)

    def judge(truth, predicted):
        elapsed = truth.time[-1] - truth.time[0]
        # Drift is taken over seven whole cycles, and along and across the heading at their start.
        position, euler = truth.at(truth.time[0] + np.array([0.0, 9.1]))
        across = np.array([-math.sin(euler[0, 0]), math.cos(euler[0, 0])])
        assert np.linalg.norm(truth.position[-1] - truth.position[0]) / elapsed == pytest.approx(0.068, rel=0.15)
        assert truth.position[-1, 0] > truth.position[0, 0]
        assert abs((position[1, :2] - position[0, :2]) @ across) < 0.01
        assert abs(math.degrees(euler[1, 0] - euler[0, 0])) < 2.0
        gaps, turns = difference(truth, predicted)
        assert gaps.max() < 0.02
        assert np.degrees(turns).max() < 1.0

    session.stretch(10.0, judge)


def test_predictions_come_at_100_hertz(session):
    def judge(_, predicted):
        # The promise is 100 +- 5 on a machine of its own; one that is busy with other things loses some more.
        assert 80 < predicted.time.size / 5.0 < 105
        assert (np.diff(predicted.time) > 0).all()

    session.stretch(5.0, judge)


def test_the_path_starts_now_and_ends_half_a_second_ahead_where_the_robot_then_is(session):
    def judge(truth, predicted):
        latest = truth.time[-1] - 0.6
        heard = [m for _, m in list(session.path) if truth.time[0] < stamp_seconds(m.header.stamp) < latest]
        assert len(heard) >= 5
        off = predicted.position[-1] - truth.at(predicted.time[-1:])[0][0]      # what earlier stretches have left
        misses = []
        for message in heard:
            ends = stamp_seconds(message.poses[-1].header.stamp)
            assert ends - stamp_seconds(message.header.stamp) == pytest.approx(0.5, abs=0.02)
            p = message.poses[-1].pose.position
            misses.append(np.linalg.norm(truth.at([ends])[0][0] + off - [p.x, p.y, p.z]))
        assert np.quantile(misses, 0.9) < 0.02

    session.stretch(3.0, judge)


def test_torques_carry_the_robots_weight(session):
    session.watch(1.0)
    message = session.torques[-1][1]
    assert len(message.name) == len(message.effort) == 18
    assert not len(message.position) and not len(message.velocity)
    # Three or more legs carry 2.55 kg on levers of about 0.1 m; none needs more than its servo has.
    assert 0.1 < np.abs(message.effort).max() < 3.43


def test_a_broken_robot_stays_and_rocks_and_the_prediction_shows_it(session):
    before = session.pids()
    accepted = session.probe.set('simulator/set_damage', {'legs.RM': False, 'legs.LM': False})
    assert accepted == (True, '')
    assert session.probe.set('set_morphology', {'legs.RM': False, 'legs.LM': False}) == (True, '')
    told = time.monotonic()
    session.wait(lambda: len(session.torques[-1][1].name) == 12, 5, 'torques are for the joints that are left')
    assert time.monotonic() - told < 2.0
    time.sleep(1.3)

    def judge(truth, predicted):
        whole_cycles = truth.at(truth.time[0] + np.array([0.0, 3.9]))[0]
        assert np.linalg.norm(whole_cycles[1, :2] - whole_cycles[0, :2]) < 0.01
        assert 1.5 < np.degrees(np.abs(truth.euler[:, 2])).max() < 7.0
        gaps, turns = difference(truth, predicted)
        assert gaps.max() < 0.01
        assert np.degrees(turns).max() < 2.0

    session.stretch(5.2, judge)
    assert session.pids() == before


def test_two_legs_down_to_their_coxa_walk_in_a_curve_and_so_does_the_prediction(session):
    names = {'legs.RM': True, 'legs.LM': True}
    for service in ('simulator/set_damage', 'set_morphology'):
        assert session.probe.set(service, names) == (True, '')
    time.sleep(3.0)
    for service in ('simulator/set_damage', 'set_morphology'):
        assert session.probe.set(service, {'links.LM.femur': False, 'links.RR.femur': False}) == (True, '')
    time.sleep(1.3)

    def judge(truth, predicted):
        cycles = np.arange(truth.time[0], truth.time[-1], 1.3)
        path = np.linalg.norm(np.diff(truth.at(cycles)[0][:, :2], axis=0), axis=1)
        assert 0.02 < path.mean() / 1.3 < 0.035
        yaw, turned = (np.degrees(track.euler[-1, 0] - track.euler[0, 0]) / (track.time[-1] - track.time[0])
                       for track in (truth, predicted))
        assert 15 < abs(5.2 * yaw) < 35
        assert 5.2 * turned == pytest.approx(5.2 * yaw, abs=2.0)
        assert difference(truth, predicted)[0].max() < 0.01

    session.stretch(5.2, judge)


def test_a_locked_joint_and_a_short_link_are_predicted_too(session):
    for service in ('simulator/set_damage', 'set_morphology'):
        assert session.probe.set(service, {'links.LM.femur': True, 'links.LM.tibia': True, 'links.RR.femur': True,
                                           'links.RR.tibia': True, 'locked.RF.tibia': True,
                                           'remaining.LF.tibia': 0.5}) == (True, '')
    time.sleep(1.3)

    def judge(truth, predicted):
        assert np.linalg.norm(truth.position[-1, :2] - truth.position[0, :2]) > 0.05
        gaps, turns = difference(truth, predicted)
        assert gaps.max() < 0.01
        assert np.degrees(turns).max() < 2.0

    session.stretch(3.0, judge)


def test_refused_damage_changes_nothing_in_the_simulated_robot(session):
    assert session.probe.set('simulator/set_damage', {'links.LM.femur': False})[0]
    accepted, reason = session.probe.set('simulator/set_damage', {'links.LM.tibia': True})
    assert not accepted and 'restore LM.femur first' in reason
    for service in ('simulator/set_damage', 'set_morphology'):
        assert session.probe.set(service, {'links.LM.femur': True, 'links.LM.tibia': True, 'locked.RF.tibia': False,
                                           'remaining.LF.tibia': 1.0}) == (True, '')
    session.wait(lambda: session.speed() > 0.05, 20, 'whole again, it walks')


@pytest.mark.parametrize('name, stops', [('gait', True), ('damage_manager', False), ('dynamics', False), ('imu', False),
                                         ('servos', True), ('simulator', True)])
def test_a_killed_node_takes_no_other_along_and_rejoins(session, name, stops):
    session.wait(lambda: all(session.pids().values()), 20, 'all nodes run')
    before, place, killed = session.pids(), Track(session.predicted).position[-1], time.monotonic()
    os.kill(before[name], signal.SIGKILL)
    if stops:
        session.wait(lambda: session.speed() < 0.02, 5, f'without {name} it stands')
    session.wait(lambda: session.pid(name) not in (None, before[name]), 20, f'{name} runs again')
    session.wait(lambda: session.speed() > 0.05, 40, f'it walks again after {name} came back')
    session.wait(lambda: session.predicted and time.monotonic() - session.predicted[-1][0] < 0.5, 30, 'it is predicted')
    if name == 'dynamics':                          # odom goes on where it was, up to a second of walking ago
        first = Track(session.predicted, killed + 0.5).position[0]
        assert np.linalg.norm(first - place) < 0.25
    after = session.pids()
    assert {n for n in NODES if after[n] != before[n]} == {name}


def test_ctrl_c_ends_everything_within_three_seconds_quietly(session):
    children = psutil.Process(session.launch.pid).children(recursive=True)
    took, _ = session.launch.interrupt()
    assert took < 3.0
    gone, alive = psutil.wait_procs(children, timeout=0.5)
    assert not alive
    assert 'Traceback' not in session.launch.output
