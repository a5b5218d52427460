"""Parts of nodes, of which none is started. Decisions that `set_morphology` does not answer are declared again, as
often as is right. What `dynamics` publishes of a load, and what `gait` reads in it. What the view draws on the robot is
of one time with it; the prediction can be set back.
"""

from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from geometry_msgs.msg import Point
from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.detection.decisions import Decision
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.estimation.payload import Payload
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait_kinds import SWAY_PERIOD
from hexapod_dynamics.nodes import view
from hexapod_dynamics.nodes.declarations import ANSWER_TIMEOUT, MAX_CALLS, DeclarationClient
from hexapod_dynamics.nodes.gait import GaitNode
from hexapod_dynamics.nodes.prediction_messages import PayloadReport
from hexapod_dynamics.nodes.view_picture import Picture
from hexapod_dynamics.onboard.prediction import FRESH_FOR, PayloadWeighing
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.node_functions import LEVELS
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.clock import Clock
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

RM = Decision("declare", "RM missing", {"legs.RM": False}, 0.99, "RM missing: no answer", 0.0)
LATE = ANSWER_TIMEOUT + 0.01


class Node:
    """What DeclarationClient uses of a node: a client that is ready and answers nothing by itself, and a log."""

    def __init__(self):
        self.futures, self.log, self.ready, self.waited_for = [], Mock(), True, []
        self.create_client = lambda kind, name: self
        self.get_logger = lambda: self.log
        self.service_is_ready = lambda: self.ready

    def call_async(self, request):
        self.futures.append(Future())
        self.waited_for.append(self.futures[-1])
        return self.futures[-1]

    def remove_pending_request(self, future):
        self.waited_for.remove(future)

    def answer(self, future, **result):
        future.set_result(SetParametersAtomically.Response(result=SetParametersResult(**result)))


@pytest.fixture
def node():
    return Node()


@pytest.fixture
def declarations(node):
    declarations = DeclarationClient(node)
    declarations.declare(RM, 0.0)
    return declarations


def test_a_lost_request_is_repeated_and_either_answer_ends_it(node, declarations):
    declarations.update(LATE)
    assert len(node.futures) == 2 and "RM missing is declared again" in node.log.warning.call_args.args[0]
    node.answer(node.futures[0], successful=True)
    declarations.update(9 * LATE)
    assert len(node.futures) == 2 and not node.waited_for and len(node.log.method_calls) == 1


def test_a_lost_answer_is_made_up_for_by_the_topic(node, declarations):
    declarations.follow({"legs.RM": True, "legs.LF": False})
    declarations.update(LATE)
    assert len(node.futures) == 2
    declarations.follow({"legs.RM": False})
    declarations.update(9 * LATE)
    assert len(node.futures) == 2 and not node.waited_for and not node.log.error.called


def test_a_service_that_never_answers_is_an_error(node, declarations):
    for k in range(1, 2 * MAX_CALLS):
        declarations.update(k * LATE)
    assert len(node.futures) == MAX_CALLS and not node.waited_for
    node.log.error.assert_called_once()
    assert "RM missing is not declared: set_morphology does not answer" in node.log.error.call_args.args[0]


def test_the_same_decision_made_anew_replaces_the_old_one(node, declarations):
    declarations.declare(RM, LATE)
    declarations.update(1.5 * LATE)
    assert len(node.futures) == 2 and node.waited_for == node.futures[1:]


def test_a_lock_whose_reading_flips_is_one_decision(node):
    declarations = DeclarationClient(node)
    for k in range(4):
        values = {"locked.RF.femur": True, "locked_at.RF.femur": 0.3 + 0.004 * (k % 2)}
        declarations.declare(Decision("declare", "RF.femur locked", values, 0.99, "", 0.0), 0.1 * k)
    assert node.waited_for == node.futures[-1:]
    declarations.follow({"locked.RF.femur": True, "locked_at.RF.femur": 0.31})
    assert not node.waited_for


def test_what_the_service_says_beside_its_consent_is_a_warning_and_a_refusal_an_error(node, declarations):
    node.answer(node.futures[0], successful=True, reason="a restart of this node would lose the declared damage")
    assert "would lose the declared damage" in node.log.warning.call_args.args[0]
    assert not node.log.error.called and not node.waited_for
    declarations.declare(RM, 1.0)
    node.answer(node.futures[1], successful=False, reason="restore LM first")
    assert "RM missing is refused: restore LM first" in node.log.error.call_args.args[0]
    node.ready = False
    declarations.declare(RM, 2.0)
    declarations.update(9 * LATE)
    assert len(node.futures) == 2 and "no service set_morphology" in node.log.error.call_args.args[0]


ROBOT = Robot.jethexa()


class FakeNode:
    """Keeps what is published and the services that are offered."""

    robot = ROBOT

    def __init__(self):
        self.sent, self.services = {}, {}

    def create_publisher(self, kind, topic, qos):
        return SimpleNamespace(publish=lambda message: self.sent.__setitem__(topic, message))

    def create_service(self, kind, name, callback):
        self.services[name] = callback

    def get_clock(self):
        return Clock()

    def get_namespace(self):
        return "/"


@pytest.fixture
def report():
    observer = Observer(ROBOT)
    observer.rotation[:] = np.eye(3)
    return PayloadReport(FakeNode(), PayloadWeighing(observer, 0.017, 0.02))


def estimate(report, payload):
    report._weighing.estimator.estimate = lambda: payload
    report._weighing._adopt()
    report.publish()
    return report._node.sent["payload"], report._node.sent["payload_wrench"].wrench


def test_the_load_is_published_and_carried_by_model_and_gait(report):
    status, wrench = estimate(report, Payload(0.4, 0.04, -0.02, 0.05, 0.01, 0.01, True, "", (0.35, 0.014, -0.007)))
    values = {pair.key: pair.value for pair in status.values}
    assert status.message == "carries 0.40 +- 0.05 kg" and status.level == LEVELS["ok"]
    assert float(values["x [mm]"]) == pytest.approx(40.0) and values["cannot tell"] == ""
    assert wrench.force.z == pytest.approx(-0.35 * ROBOT.gravity)
    load = report._weighing._observer.load
    assert load.mass == 0.35 and load.moments[:2] == (0.014, -0.007)
    gait = AdaptiveGait().bind(ROBOT)
    control = SimpleNamespace(set_payload=gait.set_payload)
    GaitNode._on_payload(SimpleNamespace(control=control, robot=ROBOT), SimpleNamespace(wrench=wrench))
    weight = gait.terrain.load.weight
    assert gait.terrain.load.wanted == pytest.approx(complex(-0.014, 0.007) / (weight + 0.35))


def test_what_cannot_be_told_is_said_and_the_last_load_stays(report):
    reason = "lighter than the tared robot: taken off"
    status, wrench = estimate(report, Payload(-0.5, 0.0, 0.0, 0.1, 0.1, 0.1, True, reason, (0.2, 0.0, 0.0)))
    assert status.message == f"cannot tell: {reason}"
    assert wrench.force.z == pytest.approx(-0.2 * ROBOT.gravity)


def test_the_service_refuses_to_tare_before_anything_is_known(report):
    answer = report._node.services["~/tare"](None, SimpleNamespace(success=None, message=""))
    assert answer.success is False and "needed" in answer.message


def test_a_load_that_was_stored_is_carried_after_a_restart(report):
    weighing = report._weighing
    weighing.restore(["not", "a", "load"])
    weighing.restore([float("nan"), 0.0, 0.0])
    assert weighing.get_stored() is None
    weighing.restore([0.4, 0.016, 0.0])
    assert weighing.estimator.estimate().expected == (0.4, 0.016, 0.0)
    weighing._adopt()
    assert weighing.get_stored() == [0.4, 0.016, 0.0] and weighing._observer.load.mass == 0.4


def windows(weighing, history, seconds, begin, cycles):
    """Let time pass: a command and a reading of each joint every 20 ms, an update every 60 ms; return the end [s]."""
    weighing._observer.commands.history = history
    joints = np.tile([0.0, 0.5, 1.0], 6)
    for tick in range(round(seconds / 0.02)):
        time = begin + 0.02 * tick
        weighing.estimator.command(time, joints)
        weighing.estimator.measure_up(np.array([0.0, 0.0, 1.0]))
        for joint in range(ROBOT.joint_count):
            weighing.estimator.measure_joint(time, joint, joints[joint])
        if tick % 3 == 0 and weighing.update(time):
            cycles.append(time)
    return begin + seconds


def test_the_gait_tells_the_period_while_the_body_sways(report, monkeypatch):
    """A sway for weighing hides the period of the steps in the commands."""
    weighing, history, cycles, now = report._weighing, SimpleNamespace(lag=None, count=0), [], [0.0]
    monkeypatch.setattr("hexapod_dynamics.nodes.prediction_messages.time.monotonic", lambda: now[0])
    for begin in range(20):  # gait_state comes once a second
        now[0] = float(begin)
        report.read_gait_state(SimpleNamespace(values=[SimpleNamespace(key=SWAY_PERIOD, value="1.3")]))
        windows(weighing, history, 1.0, now[0], cycles)
    assert 13 <= len(cycles) <= 15
    end = windows(weighing, history, FRESH_FOR + 5.0, 20.0, cycles)  # the gait is silent
    assert max(cycles) <= 20.0 + FRESH_FOR
    before, now[0] = len(cycles), end
    report.read_gait_state(SimpleNamespace(values=[SimpleNamespace(key=SWAY_PERIOD, value="1.3")]))
    report.read_gait_state(SimpleNamespace(values=[]))  # it no longer sways
    windows(weighing, history, 5.0, end, cycles)
    assert before == len(cycles)


def odometry(seconds, place, yaw):
    message = Odometry()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(seconds * 1e9), 10**9)
    p, q = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z = map(float, place)
    q.x, q.y, q.z, q.w = Rotation.from_euler("z", yaw).as_quat()
    return message


def force(seconds, foot):
    marker = Marker(type=Marker.ARROW, action=Marker.ADD)
    marker.header.stamp.sec, marker.header.stamp.nanosec = divmod(round(seconds * 1e9), 10**9)
    x, y, z = map(float, foot)
    marker.points = [Point(x=x, y=y, z=z), Point(x=x, y=y, z=z + 7.0 * FORCE_SCALE)]
    return MarkerArray(markers=[marker])


@pytest.fixture
def picture():
    newest = {"robot_description": String(data=Robot.jethexa().to_urdf())}
    made = Picture(MagicMock(), MagicMock(get=lambda topic, within=0.0: newest.get(topic)), None)
    made.newest, made._surroundings = newest, MagicMock()
    return made


def draw(picture, **messages):
    picture.newest.update({name.replace("__", "/"): message for name, message in messages.items()})
    picture.update()
    picture.draw(lambda every: True, ago=0.0, follows=True, support=True, names=True)


def test_force_arrows_are_on_the_body_as_it_was_when_they_were_computed(picture):
    draw(picture, predicted_state=odometry(5.0, (0.0, 0.0, 0.12), 0.0))
    draw(picture, predicted_state=odometry(5.02, (0.1, 0.0, 0.12), 0.5))
    # The truth is elsewhere, and the prediction has gone on, when the forces of 5.02 s arrive.
    foot = np.array([0.1, 0.0, 0.0]) + Rotation.from_euler("z", 0.5).apply([0.15, 0.1, 0.0])
    truth = odometry(6.0, (3.0, 2.0, 0.11), -1.0)
    predicted = odometry(5.3, (0.4, 0.0, 0.12), 0.9)
    draw(picture, predicted_state=predicted, simulator__odom=truth, support=force(5.02, foot))
    feet, forces = picture._surroundings.draw_forces.call_args.args
    np.testing.assert_allclose(feet, [[0.15, 0.1, -0.12]], atol=1e-9)  # in the body's axes, which carry it
    np.testing.assert_allclose(forces, [[0.0, 0.0, 7.0]], atol=1e-9)


def test_a_joint_that_is_not_a_number_keeps_its_pose_and_a_message_of_another_length_is_left_out(picture):
    draw(picture, predicted_state=odometry(5.0, (0.0, 0.0, 0.12), 0.0))
    states = JointState(name=["coxa_joint_LF", "femur_joint_LF"], position=[np.nan, 0.2])
    draw(picture, joint_states=states)
    assert picture.now.joints == {"femur_joint_LF": 0.2}
    draw(picture, joint_states=JointState(name=["coxa_joint_LF", "femur_joint_LF"], position=[0.3]))
    assert picture.now.joints == {}


def test_a_prediction_that_is_far_away_is_said_and_can_be_set_back(picture):
    predicted, truth = odometry(5.0, (1.0, 0.0, 0.12), 0.2), odometry(5.0, (0, 0, 0.1), 0.9)
    draw(picture, predicted_state=predicted, simulator__odom=truth)
    assert "set it back" in picture.hidden
    picture.set_prediction_back()
    draw(picture)
    place, rotation = picture.prediction
    assert picture.hidden == ""
    np.testing.assert_allclose(place, [0.0, 0.0, 0.1], atol=1e-9)
    assert rotation.as_euler("zyx")[0] == pytest.approx(0.9)
    ahead = odometry(5.5, 1.0 * np.array([1.0, 0.0, 0.12]) + 0.1 * np.array([np.cos(0.2), np.sin(0.2), 0.0]), 0.2)
    draw(picture, predicted_state=ahead)  # 10 cm ahead in its own heading
    np.testing.assert_allclose(picture.prediction[0], [0.1 * np.cos(0.9), 0.1 * np.sin(0.9), 0.1], atol=1e-9)


@pytest.mark.parametrize(
    ("followed", "said"),
    [
        ("0.077 0.000 m/s 0.000 rad/s", "speed 7.7 cm/s"),
        ("0.050 -0.020 m/s 0.200 rad/s", "speed 5.0 cm/s, 2.0 cm/s to the right, turning 11 deg/s left"),
        ("", ""),
    ],
)
def test_the_command_that_the_gait_follows_is_shown_in_words(followed, said):
    assert view.describe_command(followed) == said
