"""The topic press_foot: what the node gait does when the damage detector asks for a foot to be pressed down."""

import os

import numpy as np
import pytest
from support.ros_session import LATCHED, Process, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist
from hexapod_dynamics.gait.interface import PRESSED_FOOT
from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from sensor_msgs.msg import JointState
from std_msgs.msg import String


class Gait:
    """The node gait, driven by cmd_vel, and what it says."""

    def __init__(self, probe):
        self.states = probe.hear(DiagnosticStatus, "gait_state", LATCHED, keep=200)
        self.commands = probe.hear(JointState, "joint_commands", keep=200)
        self.process = Process.node("gait", "-p", f"session:=press{os.getpid()}", "-p", "velocity:=0.0")
        self._twist, self._press = (
            probe.node.create_publisher(*of, 10) for of in ((Twist, "cmd_vel"), (String, "press_foot"))
        )
        self.twist = Twist()
        self._timer = probe.node.create_timer(0.1, lambda: self._twist.publish(self.twist))
        wait_until(lambda: self._press.get_subscription_count() and self.commands, 120, lambda: self.process.output)

    def drive(self, forward, doing):
        self.twist.linear.x = forward
        wait_until(lambda: self.state.message.startswith(doing), 20, lambda: f"{doing}: {self.state}")

    def press(self, leg):
        self.states.clear()
        self._press.publish(String(data=leg))

    @property
    def state(self):
        return self.states[-1][1] if self.states else DiagnosticStatus()

    def pressed(self):
        """Legs whose feet were pressed down since `press`, by the state."""
        return {v.value for _, state in list(self.states) for v in state.values if v.key == PRESSED_FOOT}


@pytest.fixture(scope="module")
def gait(probe):
    gait = Gait(probe)
    yield gait
    gait._timer.cancel()
    assert gait.process.interrupt()[1] == 0 and "Traceback" not in gait.process.output
    gait.process.end()


def test_a_walking_robot_presses_the_foot_down_says_which_and_walks_on(gait):
    gait.drive(0.05, "walking")
    gait.press("RM")
    wait_until(lambda: gait.pressed() == {"RM"}, 10, lambda: str(gait.states))
    wait_until(lambda: gait.state.message.startswith("walking"), 10, lambda: str(gait.state))
    assert "foot of RM" in gait.process.output


def test_an_unknown_leg_is_refused_and_named(gait):
    gait.drive(0.05, "walking")
    gait.press("XX")
    wait_until(lambda: "'XX'" in gait.state.message and "LF, LM" in gait.state.message, 10, lambda: str(gait.state))
    assert not gait.pressed()


def test_a_robot_that_stands_does_not_move(gait):
    gait.twist.linear.x = 0.0
    wait_until(lambda: all(np.abs(m.velocity).max() < 1e-6 for _, m in list(gait.commands)[-50:]), 20, "it stands")
    before = np.array(gait.commands[-1][1].position)
    gait.commands.clear()
    gait.press("LM")
    wait_until(lambda: len(gait.commands) > 100, 20, "two seconds of commands")
    assert max(np.abs(np.array(m.position) - before).max() for _, m in list(gait.commands)) < 1e-6
    assert not gait.pressed()


@pytest.fixture
def detector(probe):
    """The node damage_detector in this process; asks: legs that are to be pressed."""
    node = DamageDetectorNode()
    node.asks = []
    node.detection.detector.probe = lambda time: node.asks.pop() if node.asks else None
    yield node
    node.destroy_node()


def test_the_detector_asks_for_it_unless_it_only_reports(probe, detector):
    heard = probe.hear(String, "press_foot")
    wait_until(lambda: detector._probes.get_subscription_count(), 10, "somebody listens")
    for mode, leg in (("report", "LF"), ("declare", "RM")):
        detector.detection.mode, detector.asks = mode, [leg]
        detector._update()
    wait_until(lambda: heard, 10, "press_foot is published")
    assert [message.data for _, message in heard] == ["RM"]
