"""What this package is for: two legs are torn off the launched robot, nobody tells it, and it walks on and gets up."""

import subprocess
import time

import numpy as np
import pytest
from support.launched_robot import Launched
from support.ros_session import LATCHED, NEWEST

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Quaternion, Twist
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

COMMANDED = 0.077  # [m/s], the launch file's default
CYCLE = 1.5755  # [s] without RM and LM the body goes and stops in each
CYCLES = 3 * CYCLE  # [s] over which a speed is taken


class Robot(Launched):
    """The launched robot, its true attitude and what gait says."""

    def __init__(self, probe):
        super().__init__(probe)
        self.joints = self.probe.hear(JointState, "simulator/joint_states", NEWEST, keep=10)
        self.states = self.probe.hear(DiagnosticStatus, "gait_state", LATCHED, keep=200)
        self.attitude = self.probe.node.create_publisher(Quaternion, "simulator/set_attitude", 1)
        self._walk = self.probe.node.create_publisher(Twist, "cmd_vel", 10)

    @property
    def says(self):
        return self.states[-1][1].message if self.states else ""

    @property
    def upright(self):
        """Upward component of the body's z axis."""
        o = self.truth[-1][1].pose.pose.orientation
        return 1.0 - 2.0 * (o.x**2 + o.y**2)

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
def robot(probe):
    """A launched robot; the tests are in the order of what happens to it."""
    robot = Robot(probe)
    yield robot
    robot.close()


def stop(*words):
    """The command of the page; it returns when the nodes have answered."""
    done = subprocess.run(["ros2", "run", "hexapod_dynamics", "stop", *words], timeout=60, check=False)
    assert done.returncode == 0


def test_two_legs_are_torn_off_and_it_finds_out_and_walks_on(robot):
    robot.wait(lambda: abs(robot.speed(CYCLES) - COMMANDED) < 0.06 * COMMANDED, 120, "it walks at the commanded speed")
    robot.truth.clear()
    assert robot.probe.set("simulator/set_damage", {"legs.RM": False, "legs.LM": False}) == (True, "")
    robot.wait(lambda: {"RM", "LM"} <= robot.lost(), 20, "the loss is declared")
    robot.wait(lambda: robot.speed(CYCLES) > 0.9 * COMMANDED, 30, "it walks on")
    turns = [m.pose.pose.orientation for _, m in list(robot.truth)]
    assert max(2.0 * np.hypot(o.x, o.y) for o in turns) < np.radians(30.0)  # nothing flips


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
    robot.walk(0.0)
    stick = robot.probe.node.create_timer(0.1, lambda: robot.walk(0.07))
    robot.wait(lambda: robot.truth[-1][1].twist.twist.linear.x > 0.04, 20, "it walks")
    stick.cancel()
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
