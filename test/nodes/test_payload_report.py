"""What `dynamics` publishes of a load, and what `gait` reads in it. No node is started."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("diagnostic_msgs")

from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.estimation.payload import Payload
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.nodes.gait import GaitNode
from hexapod_dynamics.nodes.payload import PayloadReport
from hexapod_dynamics.onboard.payload import PayloadWeighing
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
    control = SimpleNamespace(set_payload=gait.carry)
    GaitNode._on_payload(SimpleNamespace(control=control, robot=ROBOT), SimpleNamespace(wrench=wrench))
    weight = gait.load.weight
    assert gait.load.wanted == pytest.approx([-0.014 / (weight + 0.35), 0.007 / (weight + 0.35)])


def test_a_load_that_was_stored_is_carried_after_a_restart(weighing):
    weighing.restore(["not", "a", "load"])
    assert weighing.stored() is None
    weighing.restore([0.4, 0.016, 0.0])
    assert weighing.estimator.estimate().expected == (0.4, 0.016, 0.0)
    weighing._adopt()
    assert weighing.stored() == [0.4, 0.016, 0.0] and weighing._observer.load.mass == 0.4
