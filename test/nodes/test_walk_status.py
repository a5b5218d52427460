"""The status line says what is absent, not what others report meanwhile, and where the robot is."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Quaternion
from hexapod_dynamics.nodes import walk_status
from hexapod_dynamics.nodes.messages import format_pose
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_rpy
from nav_msgs.msg import Odometry


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock of the status line."""
    clock = SimpleNamespace(**{name: getattr(time, name) for name in ("time", "strftime", "localtime")}, now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(walk_status, "time", clock)
    return clock


@pytest.fixture
def node(probe, clock):
    node = walk_status.WalkStatus()
    yield node
    node.destroy_node()


@pytest.fixture
def printed(node, clock, capsys):
    """A function printed(statuses, seconds, nodes): what is printed while each 0.2 s these statuses are reported, and
    these nodes are expected.
    """

    def report(statuses, seconds, nodes):
        node._expected = nodes
        for tick in range(round(5.0 * seconds)):
            clock.now += 0.2
            node._on_diagnostics(DiagnosticArray(status=statuses))
            if tick % 5 == 4:
                node._print()
        return capsys.readouterr().out

    return report


@pytest.mark.parametrize(
    ("nodes", "shown", "cause"),
    [
        (["servos"], True, "servo port /dev/rrc does not exist: is the adapter plugged in"),
        (["servos", "simulator"], False, "servo port /dev/rrc does not exist: is the adapter plugged in"),
        (["servos"], True, "no servo answers, none is moved"),
        (["servos"], True, "no message on joint_states: is the driver of the joints up"),
    ],
)
def test_a_device_that_is_not_there_is_named_at_once(printed, nodes, shown, cause):
    """The cause first, not ten lines of "no pose received yet"; a simulated port may come."""
    text = printed([DiagnosticStatus(name="servos", level=DiagnosticStatus.ERROR, message=cause)], 4.0, nodes)
    assert text.count(" | missing: ") == 4
    assert (cause in text) == shown, text


def test_a_node_that_reports_is_not_absent_though_the_graph_has_lost_it(node, clock):
    clock.now += 20.0  # after its start
    node._expected = ["servos", "gait"]
    node._on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(name="servos", level=DiagnosticStatus.OK)]))
    assert node._find_absent(node._elapsed() + 0.5 * walk_status.ABSENT_AFTER) == {"gait"}
    assert node._find_absent(node._elapsed() + 2.0 * walk_status.ABSENT_AFTER) == {"gait", "servos"}


@pytest.mark.parametrize(
    "there, absent_after", [(lambda t: t % 3.0 < 1.0, 6.0), (lambda t: True, walk_status.START + 5.0)]
)
def test_a_node_that_never_reports_is_absent_though_it_is_in_the_graph_again_and_again(
    node, clock, monkeypatch, there, absent_after
):
    monkeypatch.setattr(
        node, "get_node_names_and_namespaces", lambda: [("servos", "/")] if there(node._elapsed()) else []
    )
    node._expected, absent = ["servos"], []
    while node._elapsed() < 80.0:
        if node._find_absent(node._elapsed()):
            absent.append(node._elapsed())
        clock.now += 0.5
    assert absent[0] == pytest.approx(absent_after, abs=1.0) and len(absent) >= 2.0 * (79.0 - absent_after)
    node._on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(name="servos", level=DiagnosticStatus.OK)]))
    assert not node._find_absent(node._elapsed())


def test_a_node_that_has_ended_is_starting_for_a_while_then_absent_with_what_to_do(printed):
    text = printed([], 20.0, ["no_such_node"])
    assert text.count(" | starting: no_such_node") == 15 and text.count(" | absent: no_such_node") == 5, text
    assert text.count("no_such_node: it has ended, or cannot start: its FATAL in the log says why") == 1


def test_the_prediction_is_read_once_a_second_from_diagnostics(node, clock, capsys):
    """Nobody subscribes to the hundred predictions a second for this line."""
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    def after(seconds, *statuses):
        """What is printed after a time in which it walks along its heading."""
        clock.now += seconds
        truth = Odometry()
        truth.header.stamp.sec, truth.header.stamp.nanosec = divmod(round(clock.now * 1e9), 10**9)
        pose = truth.pose.pose
        pose.position.y, pose.position.z, truth.twist.twist.linear.x = 0.1 * clock.now, 0.1, 0.1
        pose.orientation = Quaternion(**dict(zip("xyzw", quaternion_from_rotation(turned), strict=True)))
        node._on_truth(truth)
        node._on_diagnostics(DiagnosticArray(status=list(statuses)))
        node._print()
        return capsys.readouterr().out

    after(1.0)
    text = after(1.0)
    assert "10.0 cm/s" in text and "no prediction" in text
    assert "yaw   90 deg" in text and "prediction off" not in text
    values = format_pose(clock.now + 1.0, np.array([0.03, 0.1 * clock.now + 0.1, 0.1]), turned)
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    assert "prediction 3.0 cm off" in after(1.0, DiagnosticStatus(name="dynamics", values=pairs))
    assert "/predicted_state" not in {subscription.topic_name for subscription in node.subscriptions}


def test_the_line_fits_100_columns_with_problems_too_and_no_number_is_minus_zero():
    pose = walk_status.Pose(0.0, np.zeros(3), rotation_rpy(0.5, -0.4, -3.1))
    text = walk_status.format_line(9999.0, pose, 0.999, np.array([-0.125, -1.0]), [])
    assert len(text) <= 100 and text.endswith("| missing: nothing"), text
    text = walk_status.format_line(99.0, pose, 0.5, np.array([-0.0001, -0.0001]), [])
    assert "-0.0" not in text
    assert walk_status.fit_line(text, {"absent": []}) == (text, "")
    many = ["damage_detector", "dynamics", "gait", "imu", "robot_description", "servos"]
    for names, shown in (
        (["servos"], "servos"),
        (["dynamics", "imu", "servos"], "dynamics imu servos"),
        (many, "6 nodes"),
    ):
        begin, end = walk_status.fit_line(text, {"not well": names, "absent": set()})
        assert len(begin + end) <= 100 and end == f" | not well: {shown}"
        assert text.startswith(begin) and "missing" not in begin
    text = walk_status.format_line(99.0, pose, None, np.zeros(2), ["LM", "RM"])
    begin, end = walk_status.fit_line(text, {"not well": ["dynamics"], "computer too busy": ["servos"]})
    assert len(begin + end) <= 100 and "LM RM" in begin and end == " | not well: 2 nodes"
    ignored = "malformed messages on /joint_commands from /a_stranger are ignored"
    _, end = walk_status.fit_line(text, {"not well": [], "received": [ignored]})
    assert end == f" | received: {ignored}"
    _, end = walk_status.fit_line(text, {"not well": [], "computer too busy": ["imu", "servos"], "received": [ignored]})
    assert end == f" | not well: 2 nodes | received: {ignored}"


@pytest.mark.parametrize(
    ("level", "values", "told"),
    [
        (DiagnosticStatus.WARN, {"stop": "off", "emergency stop": "False"}, {"stopped": ["torque is off"]}),
        (DiagnosticStatus.WARN, {"stop": "hold"}, {"stopped": ["holds where it stands"]}),
        (DiagnosticStatus.ERROR, {"stop": "off"}, {}),  # the supply, or a servo
        (DiagnosticStatus.WARN, {"stop": "follow"}, {}),
        (
            DiagnosticStatus.ERROR,
            {"emergency stop": "True"},
            {"emergency stop": ["`stop --resume --namespace a/left` ends it"]},
        ),
    ],
)
def test_a_stop_that_a_person_asked_for_is_no_failure_and_is_told_with_the_command_that_ends_it(level, values, told):
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    assert walk_status.stop_of(DiagnosticStatus(name="servos", level=level, values=pairs), "a/left") == told


def test_an_emergency_stop_is_told_as_such_and_not_as_a_failure_nor_of_another_robot(printed):
    imu = DiagnosticStatus(name="imu", level=DiagnosticStatus.OK, message="measuring")
    servos = DiagnosticStatus(name="servos", level=DiagnosticStatus.ERROR, message="emergency stop: frozen")
    servos.values = [KeyValue(key="emergency stop", value="True")]
    other = DiagnosticStatus(name="left/servos", values=[KeyValue(key="emergency stop", value="True")])
    text = printed([servos, imu], 15.0, ["imu"])
    assert "| emergency stop: " in text and "servos: emergency stop: frozen" in text
    assert "not well" not in text
    servos.values = [KeyValue(key="emergency stop", value="False")]
    text = printed([servos, other, imu], 2.0, ["imu"])
    assert "not well: servos" in text and "emergency stop: `" not in text
