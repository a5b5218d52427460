"""What this package is for: two legs are torn off the launched robot, nobody tells it, and it walks on."""

import subprocess
import time

import numpy as np
import pytest
from support.ros_session import LATCHED, NEWEST, Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from std_srvs.srv import SetBool

COMMANDED = 0.077  # [m/s], the launch file's default
OTHER_BUSES = "board", "dynamixel", "feetech"
CYCLES = 3 * 1.5755  # [s] over which a speed is taken: without RM and LM the body goes and stops in each cycle


class Walk:
    """The launched robot and its true path."""

    def __init__(self, bus):
        self.probe = Probe()
        self.truth = self.probe.hear(Odometry, "simulator/odom", NEWEST, keep=1000)
        self.morphologies = self.probe.hear(ParameterEvent, "morphology", LATCHED, keep=20)
        self.launch = Process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", f"bus:={bus}")

    def wait(self, condition, timeout, what):
        return wait_until(condition, timeout, lambda: f"{what}\n{self.launch.output[-4000:]}")

    def keeps(self, condition, timeout, what):
        """Wait until a condition has held at each look for CYCLES: a speed that only passes does not count."""
        since = [None]

        def has_held():
            since[0] = None if not condition() else since[0] or time.monotonic()
            return since[0] is not None and time.monotonic() - since[0] > CYCLES

        return self.wait(has_held, timeout, what)

    def speed(self):
        """Mean speed [m/s] over the last seconds, 0 before there are as many."""
        end = time.monotonic()
        track = [m for at, m in list(self.truth) if at > end - CYCLES]
        if len(track) < 30 * CYCLES:
            return 0.0
        ends = [np.array([m.pose.pose.position.x, m.pose.pose.position.y]) for m in (track[0], track[-1])]
        return float(np.linalg.norm(ends[1] - ends[0])) / CYCLES

    def lost(self):
        """Legs that are declared missing."""
        values = self.morphologies[-1][1].new_parameters if self.morphologies else []
        return {p.name[5:] for p in values if p.name.startswith("legs.") and not p.value.bool_value}

    def tilt(self):
        """Largest tilt [rad] in what is kept of the path."""
        turns = [m.pose.pose.orientation for _, m in list(self.truth)]
        return max(2.0 * np.hypot(o.x, o.y) for o in turns)


@pytest.fixture(scope="module", params=["lx", *(pytest.param(bus, marks=pytest.mark.slow) for bus in OTHER_BUSES)])
def walk(request):
    """A launched robot with the servos of one kind."""
    separate()
    walk = Walk(request.param)
    try:
        yield walk
    finally:
        walk.launch.end()
        walk.probe.close()


@pytest.mark.slow  # what test_launch_walk.py holds of the default bus
def test_a_whole_robot_walks_as_fast_as_it_is_told(walk):
    walk.wait(lambda: abs(walk.speed() - COMMANDED) < 0.06 * COMMANDED, 120, "it walks at the commanded speed")
    walk.keeps(lambda: abs(walk.speed() - COMMANDED) < 0.1 * COMMANDED, 120, "it keeps this speed")


def test_two_legs_are_torn_off_and_it_finds_out_and_walks_on(walk):
    walk.wait(lambda: abs(walk.speed() - COMMANDED) < 0.06 * COMMANDED, 120, "it walks at the commanded speed")
    walk.truth.clear()
    assert walk.probe.set("simulator/set_damage", {"legs.RM": False, "legs.LM": False}) == (True, "")
    walk.wait(lambda: {"RM", "LM"} <= walk.lost(), 20, "the loss is declared")
    walk.wait(lambda: walk.speed() > 0.9 * COMMANDED, 30, "it walks on")
    assert walk.tilt() < np.radians(30.0)  # nothing flips


def test_the_stop_command_stops_it_and_it_stays_stopped(walk):
    said = walk.probe.hear(DiagnosticArray, "/diagnostics", keep=200)
    assert subprocess.run(["ros2", "run", "hexapod_dynamics", "stop"], timeout=60, check=False).returncode == 0
    time.sleep(1.0)
    walk.truth.clear()
    said.clear()  # what was suspected of a robot that walked is another matter
    time.sleep(CYCLES + 0.5)
    assert walk.truth
    assert walk.speed() < 0.002
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
    walk.wait(lambda: walk.truth[-1][1].pose.pose.position.z < 0.04, 20, "it sits")
    said = walk.probe.hear(DiagnosticArray, "/diagnostics", keep=50)
    walk.wait(
        lambda: any(s.name == "servos" and "torque is off" in s.message for _, array in said for s in array.status),
        20,
        "torque is off",
    )
    assert "Traceback" not in walk.launch.output and "process has died" not in walk.launch.output, walk.launch.output
