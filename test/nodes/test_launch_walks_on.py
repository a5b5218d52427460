"""What this package is for: two legs are torn off the launched robot, nobody tells it, and it walks on."""

import subprocess
import time

import numpy as np
import pytest
from support.launched_robot import Launched
from support.ros_session import separate

from diagnostic_msgs.msg import DiagnosticArray
from std_srvs.srv import SetBool

COMMANDED = 0.077  # [m/s], the launch file's default
CYCLES = 3 * 1.5755  # [s] over which a speed is taken: without RM and LM the body goes and stops in each cycle


@pytest.fixture(scope="module")
def walk():
    """A launched robot; other servos than the default: test_every_protocol.py."""
    separate()
    walk = Launched()
    yield walk
    walk.close()


def test_two_legs_are_torn_off_and_it_finds_out_and_walks_on(walk):
    walk.wait(lambda: abs(walk.speed(CYCLES) - COMMANDED) < 0.06 * COMMANDED, 120, "it walks at the commanded speed")
    walk.truth.clear()
    assert walk.probe.set("simulator/set_damage", {"legs.RM": False, "legs.LM": False}) == (True, "")
    walk.wait(lambda: {"RM", "LM"} <= walk.lost(), 20, "the loss is declared")
    walk.wait(lambda: walk.speed(CYCLES) > 0.9 * COMMANDED, 30, "it walks on")
    turns = [m.pose.pose.orientation for _, m in list(walk.truth)]
    assert max(2.0 * np.hypot(o.x, o.y) for o in turns) < np.radians(30.0)  # nothing flips


def test_the_stop_command_stops_it_and_it_stays_stopped(walk):
    said = walk.probe.hear(DiagnosticArray, "/diagnostics", keep=200)
    assert subprocess.run(["ros2", "run", "hexapod_dynamics", "stop"], timeout=60, check=False).returncode == 0
    time.sleep(1.0)
    walk.truth.clear()
    said.clear()  # what was suspected of a robot that walked is another matter
    time.sleep(CYCLES + 0.5)
    assert walk.truth
    assert walk.speed(CYCLES) < 0.002
    # `dynamics` knows that the commands are not executed, and takes no joint that holds for a contradiction.
    words = [s.message for _, array in list(said) for s in array.status if s.name in ("dynamics", "damage_detector")]
    assert words and not any("contradict" in one or "suspects" in one for one in words), words


def test_it_sits_down_and_lets_go_and_no_node_has_ended(walk):
    assert (
        subprocess.run(["ros2", "run", "hexapod_dynamics", "stop", "--resume"], timeout=60, check=False).returncode == 0
    )

    def sits_down():
        answer = walk.probe.call(SetBool, "servos/torque", SetBool.Request(data=False))
        # After a stop, nothing moves before every joint is measured anew.
        assert answer.success or "ask again in a second" in answer.message, answer
        return answer.success and "sitting down" in answer.message

    walk.wait(sits_down, 10, "it sits down")
    walk.wait(lambda: walk.height < 0.04, 20, "it sits")
    said = walk.probe.hear(DiagnosticArray, "/diagnostics", keep=50)
    walk.wait(
        lambda: any(s.name == "servos" and "torque is off" in s.message for _, array in said for s in array.status),
        20,
        "torque is off",
    )
    assert "Traceback" not in walk.launch.output and "process has died" not in walk.launch.output, walk.launch.output
