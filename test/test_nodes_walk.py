"""gait and dynamics in processes of their own, fed by hand: what they do with good input, bad input and none."""

import math
import time

import numpy as np
import pytest
from ros_session import LATCHED, Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.estimation.attitude import quaternion_from_rotation
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.nodes.common import stamp_seconds
from hexapod_dynamics.robot import Morphology, Robot
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

ROBOT = Robot.jethexa()
STANDING = TripodGait().bind(ROBOT).position.copy()
# Starting a node may compile the model first, on a busy machine.
START = 120


@pytest.fixture(scope='module')
def probe():
    separate()
    probe = Probe()
    probe.hear(DiagnosticArray, '/diagnostics', 50)
    yield probe
    probe.close()


@pytest.fixture(scope='module')
def gait(probe):
    process = Process.node('gait', '-r', '__ns:=/g', '-p', 'velocity:=0.05')
    probe.hear(JointState, '/g/joint_commands')
    wait_until(lambda: probe.messages['/g/joint_commands'], START, lambda: process.output)
    yield process
    assert process.interrupt()[1] == 0 and 'Traceback' not in process.output
    process.end()


@pytest.fixture(scope='module')
def dynamics(probe):
    process = Process.node('dynamics', '-r', '__ns:=/d')
    feed = Feed(probe)
    probe.hear(Odometry, '/d/predicted_state', keep=500)
    probe.hear(JointState, '/d/feedforward_torques', keep=500)
    probe.hear(JointState, '/d/predicted_joint_states', keep=500)
    wait_until(lambda: probe.messages['/d/predicted_state'], START, lambda: process.output)
    yield feed
    assert process.interrupt()[1] == 0 and 'Traceback' not in process.output
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
        self.muted = set()
        self._topics = [(name, message, node.create_publisher(type(message), f'/d/{name}', 10)) for name, message in
                        (('joint_states', self.joints), ('joint_commands', self.commands), ('imu/data', self.imu))]
        self.morphology = node.create_publisher(ParameterEvent, '/d/morphology', LATCHED)
        node.create_timer(0.02, self._publish)

    def _publish(self):
        for name, message, publisher in self._topics:
            if name not in self.muted:
                message.header.stamp = self.node.get_clock().now().to_msg()
                publisher.publish(message)

    def tell(self, values):
        event = ParameterEvent(node='/test')
        event.new_parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self.morphology.publish(event)


def status(probe, name):
    """The last diagnostic status of a node: (level, message)."""
    for _, message in reversed(probe.messages['/diagnostics']):
        for entry in message.status:
            if entry.name == name:
                return entry.level, entry.message
    return None, ''


def says(probe, name, words, timeout=8):
    return wait_until(lambda: words in status(probe, name)[1], timeout,
                      lambda: f'{name} says {words!r} but {status(probe, name)}')


def last(probe, topic):
    return probe.messages[topic][-1][1]


def fresh(probe, topic, timeout=5):
    """A message of the topic that has arrived after now."""
    now = time.monotonic()
    wait_until(lambda: probe.messages[topic] and probe.messages[topic][-1][0] > now, timeout, f'{topic} goes on')
    return last(probe, topic)


# ---- gait --------------------------------------------------------------------------------------------------------


def speed_of(probe):
    """Largest joint rate commanded within the last second."""
    now = time.monotonic()
    return max(np.abs(m.velocity).max() for at, m in list(probe.messages['/g/joint_commands']) if at > now - 1.0)


def test_it_walks_by_itself_until_it_hears_a_command_and_stops_softly_when_commands_do(gait, probe):
    wait_until(lambda: speed_of(probe) > 0.1, 10, 'the default velocity walks')
    publisher = probe.node.create_publisher(Twist, '/g/cmd_vel', 10)
    turning = Twist()
    turning.angular.z = 0.3
    for _ in range(30):
        publisher.publish(turning)
        time.sleep(0.1)
    wait_until(lambda: speed_of(probe) > 0.1, 5, 'it turns')
    wait_until(lambda: speed_of(probe) < 1e-3, 15, 'the last command is too old: it stands')
    positions = np.array([m.position for _, m in probe.messages['/g/joint_commands']])
    rates = np.array([m.velocity for _, m in probe.messages['/g/joint_commands']])
    # No joint moves further from one command to the next than the joints' rates allow; a tick may be 10 ms off.
    stamps = np.array([stamp_seconds(m.header.stamp) for _, m in probe.messages['/g/joint_commands']])
    allowed = np.abs(rates).max() * (np.diff(stamps) + 0.022)
    assert (np.abs(np.diff(positions, axis=0)).max(axis=1) < allowed).all()
    np.testing.assert_allclose(last(probe, '/g/joint_commands').position, STANDING, atol=2e-3)
    probe.node.destroy_publisher(publisher)


def test_commands_come_at_50_hertz_on_an_even_grid(gait, probe):
    start = time.time()
    time.sleep(3.0)
    # Fifty a second by their stamps; a busy machine loses some, but there is never one too many.
    stamps = [stamp_seconds(m.header.stamp) for _, m in list(probe.messages['/g/joint_commands'])]
    assert 70 <= sum(start < stamp < start + 2.0 for stamp in stamps) <= 105


def test_a_command_that_is_no_number_is_refused_and_named(gait, probe):
    publisher = probe.node.create_publisher(Twist, '/g/cmd_vel', 10)
    wrong = Twist()
    wrong.linear.x = math.nan
    wait_until(lambda: publisher.get_subscription_count() > 0, 10, 'gait listens')
    for _ in range(3):
        publisher.publish(wrong)
    says(probe, 'g/gait', 'finite numbers')
    assert speed_of(probe) < 1e-3
    probe.node.destroy_publisher(publisher)


def test_legs_that_are_missing_and_joints_that_are_locked_are_left_alone(gait, probe):
    publisher = probe.node.create_publisher(ParameterEvent, '/g/morphology', LATCHED)
    morphology = Morphology.whole(ROBOT).without('RM', 'LM.femur').locked('RF.tibia', 0.0)
    event = ParameterEvent(node='/test')
    event.new_parameters = [Parameter(name, value=value).to_parameter_msg()
                            for name, value in morphology.parameters().items()]
    publisher.publish(event)
    expected = [name for name, moves in zip(ROBOT.joint_names, morphology.moving_mask, strict=True) if moves]
    wait_until(lambda: list(last(probe, '/g/joint_commands').name) == expected, 10, 'only what moves is commanded')
    assert len(last(probe, '/g/joint_commands').position) == len(expected) == 12


# ---- dynamics ----------------------------------------------------------------------------------------------------


def test_a_standing_robot_is_predicted_to_stand(dynamics, probe):
    says(probe, 'd/dynamics', 'predicting')
    message = fresh(probe, '/d/predicted_state')
    p = message.pose.pose.position
    assert math.hypot(p.x, p.y) < 0.005 and 0.11 < p.z < 0.125
    assert message.header.frame_id == 'odom' and message.child_frame_id == 'base_link'
    assert np.abs(fresh(probe, '/d/feedforward_torques').effort).max() > 0.1


@pytest.mark.parametrize('bend, words', [
    (lambda feed: feed.joints.position.__setitem__(4, math.nan), 'joint_states has a value that is not finite for'),
    (lambda feed: feed.joints.name.__setitem__(0, 'elbow'), "joint_states names the joint 'elbow'"),
    (lambda feed: feed.joints.position.pop(), 'joint_states has 18 names and 17 values'),
    (lambda feed: feed.commands.position.__setitem__(0, math.inf), 'joint_commands has a value that is not finite'),
    (lambda feed: setattr(feed.imu.orientation, 'w', math.nan), 'imu/data: quaternion'),
    (lambda feed: feed.tell({'legs.XX': False}), 'the legs are LF, LM, LR, RR, RM, RF'),
    (lambda feed: feed.muted.add('imu/data'), 'no imu/data'),
    (lambda feed: feed.muted.add('joint_states'), 'no joint_states'),
], ids=['a NaN joint', 'an unknown joint', 'a short message', 'an infinite command', 'a NaN attitude', 'an unknown leg',
        'no IMU', 'no servos'])
def test_bad_input_is_named_and_the_rest_goes_on(dynamics, probe, bend, words):
    bend(dynamics)
    says(probe, 'd/dynamics', words)
    p = fresh(probe, '/d/predicted_state').pose.pose.position
    assert math.hypot(p.x, p.y) < 0.02 and 0.1 < p.z < 0.13
    dynamics.joints.name, dynamics.joints.position = list(ROBOT.joint_names), STANDING.tolist()
    dynamics.commands.position = STANDING.tolist()
    w = quaternion_from_rotation(ROBOT.imu.rotation)[3]
    dynamics.imu.orientation.w = w
    dynamics.muted.clear()
    wait_until(lambda: status(probe, 'd/dynamics') == (DiagnosticStatus.OK, 'predicting'), 12,
               lambda: f'all is well again but {status(probe, "d/dynamics")}')


def test_a_change_of_morphology_is_in_the_next_prediction(dynamics, probe):
    before = len(probe.messages['/d/predicted_state'])
    dynamics.tell(Morphology.whole(ROBOT).without('RM').parameters())
    wait_until(lambda: len(last(probe, '/d/feedforward_torques').name) == 15, 5, 'fifteen joints are left')
    assert len(fresh(probe, '/d/predicted_joint_states').name) == 15
    assert before > 0
    dynamics.tell(Morphology.whole(ROBOT).locked('RF.tibia', 0.0).parameters())
    wait_until(lambda: len(last(probe, '/d/feedforward_torques').name) == 17, 5, 'seventeen joints move')
    message = fresh(probe, '/d/predicted_joint_states')
    assert len(message.name) == 18
    # Locked where it is measured, not where somebody said.
    index = ROBOT.joint_names.index('tibia_joint_RF')
    assert message.position[index] == pytest.approx(STANDING[index], abs=1e-6)
