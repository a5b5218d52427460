"""What `dynamics` publishes of a load, and what `gait` reads in it. No node is started."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("diagnostic_msgs")

from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.estimation.payload import Payload
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait_kinds import SWAY_PERIOD
from hexapod_dynamics.nodes.gait import GaitNode
from hexapod_dynamics.nodes.prediction_messages import PayloadReport
from hexapod_dynamics.onboard.prediction import FRESH_FOR, PayloadWeighing
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.node_functions import LEVELS
from rclpy.clock import Clock

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


@pytest.fixture
def weighing(report):
    return report._weighing


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
    assert report._weighing._observer.load.mass == 0.35 and report._weighing._observer.load.moments[:2] == (
        0.014,
        -0.007,
    )
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


def test_a_load_that_was_stored_is_carried_after_a_restart(weighing):
    weighing.restore(["not", "a", "load"])
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


def test_the_gait_tells_the_period_while_the_body_sways(report, weighing, monkeypatch):
    """A sway for weighing hides the period of the steps in the commands."""
    history, cycles, now = SimpleNamespace(lag=None), [], [0.0]
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
