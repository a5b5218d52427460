"""The launch file for ros2_control: what is missing is named; installed, its manager gets joints and controllers."""

import os
import subprocess

import pytest
from support.stand_in_programs import installed, make_stand_ins

pytestmark = pytest.mark.usefixtures("domain")

LAUNCH = ("ros2", "launch", "hexapod_dynamics", "ros2_control.launch.py")
NEEDED = ("controller_manager", "joint_state_broadcaster", "forward_command_controller", "joint_trajectory_controller")


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_what_is_not_installed_is_named_with_the_command_that_installs_it():
    done = subprocess.run(LAUNCH, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "controller_manager" in done.stderr + done.stdout
    distro = os.environ.get("ROS_DISTRO", "humble")
    assert f"sudo apt install ros-{distro}-ros2-control" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_the_manager_gets_the_robots_joints_and_the_topics_of_the_walk(tmp_path):
    programs = dict.fromkeys(NEEDED, ()) | {"controller_manager": ["ros2_control_node", "spawner"]}
    stand_ins = make_stand_ins(tmp_path, programs)
    with subprocess.Popen(
        [*LAUNCH, "imu:=none", "component:=mock"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | stand_ins | {"PYTHONUNBUFFERED": "1"},
    ) as launch:
        heard, line = "", ""
        while "no pose received" not in line and "joint_states" not in line and launch.poll() is None:
            line = launch.stdout.readline()
            heard += line
        launch.terminate()
        launch.wait(20)
    assert "/forward_position_controller/commands:=/commands" in heard, heard
    assert "joint_state_broadcaster forward_position_controller" in heard, heard
    assert "mock_components/GenericSystem" in heard, heard
    assert "tibia_joint_RR" in heard, heard
