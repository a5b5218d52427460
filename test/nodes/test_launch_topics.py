"""hardware:=topics: a robot whose driver is not of this project loses two legs, and walks on (`pytest -m slow`)."""

import sys
import time
from pathlib import Path

import pytest
from support.ros_session import NEWEST, Probe, Process, separate, wait_until
from support.stand_in_programs import installed

from nav_msgs.msg import Odometry
from std_msgs.msg import String

DRIVER = Path(__file__).parents[1] / "support" / "foreign_driver.py"
AFTERWARDS = 20.0  # [s] in which nothing else may be declared
pytestmark = pytest.mark.slow


OURS = "walk.launch.py", "hardware:=topics"
# A real ros2_control between this package and the robot.
CONTROL = "ros2_control.launch.py", "component:=topic_based", "velocity:=0.077"
REMAPPED = [f"{name}:=/device/{name}" for name in ("joint_states", "joint_commands")]
BEHIND = "joint_commands", "--ros-args", *(word for each in REMAPPED for word in ("-r", each))
WITHOUT = pytest.mark.skipif(not installed("topic_based_ros2_control"), reason="ros2_control is not installed")


@pytest.mark.parametrize(
    ("launched", "interface", "driver"),
    [
        (OURS, "joint_commands", ("joint_commands",)),
        (OURS, "commands", ("commands",)),
        (OURS, "joint_trajectory", ("joint_trajectory",)),
        (OURS, "commands", ("commands", "keep")),
        pytest.param(CONTROL, "commands", BEHIND, marks=WITHOUT),
        pytest.param(CONTROL, "joint_trajectory", BEHIND, marks=WITHOUT),
    ],
)
def test_two_legs_that_another_drivers_robot_loses_are_all_that_is_declared(launched, interface, driver):
    """keep: lost joints are reported with their last position, as by ros2_control."""
    separate()
    probe = Probe()
    driver = Process(sys.executable, str(DRIVER), *driver)
    launch = Process(
        *("ros2", "launch", "hexapod_dynamics", *launched, "detect:=declare"), f"command_interface:={interface}"
    )
    try:
        odometry = probe.hear(Odometry, "predicted_state", NEWEST, keep=200)
        morphology = probe.morphology()
        torn = probe.node.create_publisher(String, "torn", 10)

        def way():
            return max((m.pose.pose.position.x for _, m in list(odometry)), default=0.0)

        def declared():
            """Entries of the morphology that are not those of a whole robot: legs and links false, joints true."""
            values = morphology() or {}
            return {
                name
                for name, value in values.items()
                if value is name.startswith(("limp", "locked.")) or name.startswith("remaining") and value < 1.0
            }

        wait_until(lambda: way() > 0.4, 60, lambda: f"it walks\n{launch.output[-3000:]}")
        torn.publish(String(data="RM LM"))
        wait_until(lambda: {"legs.RM", "legs.LM"} <= declared(), 20, lambda: f"declared\n{launch.output[-3000:]}")
        found, start, begin = declared(), way(), time.monotonic()
        assert all(name.split(".")[1] in ("RM", "LM") for name in found), found
        while time.monotonic() < begin + AFTERWARDS:
            assert declared() == found, launch.output[-3000:]
            time.sleep(0.2)
        assert way() - start > 0.8 * 0.077 * AFTERWARDS
        assert "Traceback" not in launch.output, launch.output[-3000:]
    finally:
        launch.end()
        driver.end()
        probe.close()
