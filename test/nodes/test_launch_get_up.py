"""The launched robot on its back, without RM: it gets up and walks on; a stop on the way lasts until it is asked."""

import time

import numpy as np
import pytest
from support.launched_robot import Launched
from support.ros_session import LATCHED, NEWEST, separate

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Quaternion, Twist
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger


class Fallen(Launched):
    """The launched robot, its true attitude and what gait says."""

    def __init__(self):
        super().__init__("velocity:=0.0")
        self.joints = self.probe.hear(JointState, "simulator/joint_states", NEWEST, keep=10)
        self.states = self.probe.hear(DiagnosticStatus, "gait_state", LATCHED, keep=200)
        self._turn = self.probe.node.create_publisher(Quaternion, "simulator/set_attitude", 1)
        self._walk = self.probe.node.create_publisher(Twist, "cmd_vel", 10)
        self.wait(lambda: self._turn.get_subscription_count() and self.truth and self.states, 120, "it is launched")

    @property
    def says(self):
        return self.states[-1][1].message if self.states else ""

    @property
    def upright(self):
        """Upward component of the body's z axis."""
        o = self.truth[-1][1].pose.pose.orientation
        return 1.0 - 2.0 * (o.x**2 + o.y**2)

    def put_on_its_back(self):
        """Turn over a robot that stands; one that lies so from its start waits to be asked."""
        self.wait(lambda: self.upright > 0.95 and self.height > 0.08, 60, "it stands")
        time.sleep(1.0)
        self._turn.publish(Quaternion(x=1.0, w=0.0))
        self.wait(lambda: self.upright < -0.9, 10, "it lies on its back")

    def walk(self, forward):
        message = Twist()
        message.linear.x = forward
        self._walk.publish(message)

    def bent(self, seconds):
        """How far joints move within so many seconds [rad]."""
        before = np.array(self.joints[-1][1].position)
        time.sleep(seconds)
        return np.abs(np.array(self.joints[-1][1].position) - before).max()


@pytest.fixture(scope="module")
def robot():
    separate()
    fallen = Fallen()
    yield fallen
    fallen.close()


def test_on_its_back_and_without_a_leg_it_gets_up_and_walks_when_it_is_told(robot):
    assert robot.probe.set("simulator/set_damage", {"legs.RM": False}) == (True, "")
    robot.wait(lambda: robot.lost() == {"RM"}, 30, "the loss is declared")
    tones = robot.probe.hear(Bool, "buzzer")
    robot.put_on_its_back()
    robot.wait(lambda: "about to get up" in robot.says, 10, "it announces it")
    robot.wait(lambda: "upright after a fall" in robot.says, 60, "it stands")
    assert [message.data for _, message in tones][:2] == [True, False]
    assert robot.upright > 0.95
    assert robot.bent(1.0) < 0.05  # it stands until it is told
    robot.walk(0.0)
    stick = robot.probe.node.create_timer(0.1, lambda: robot.walk(0.07))
    robot.wait(lambda: robot.truth[-1][1].twist.twist.linear.x > 0.04, 20, "it walks")
    stick.cancel()
    answer = robot.probe.call(Trigger, "get_up", Trigger.Request())
    assert not answer.success and "not fallen" in answer.message


def test_an_emergency_stop_on_the_way_lasts_until_it_is_asked_to_get_up(robot):
    robot.put_on_its_back()
    robot.wait(lambda: "turning over" in robot.says, 30, "it turns over")
    assert robot.probe.call(SetBool, "emergency_stop", SetBool.Request(data=True)).success
    time.sleep(0.3)
    assert robot.bent(2.0) < 0.02
    assert robot.probe.call(SetBool, "emergency_stop", SetBool.Request(data=False)).success
    assert robot.bent(3.0) < 0.02
    assert "stopped" in robot.says
    answer = robot.probe.call(Trigger, "get_up", Trigger.Request())
    assert answer.success, answer.message
    robot.wait(lambda: "turning over" in robot.says and robot.bent(0.5) > 0.1, 30, "it goes on getting up")
