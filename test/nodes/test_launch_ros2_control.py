"""The launch file for ros2_control: what is missing is named; installed, its manager gets joints and controllers."""

import os
import subprocess
import sys

import pytest
from support.ros_session import separate

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

LAUNCH = ("ros2", "launch", "hexapod_dynamics", "ros2_control.launch.py")
NEEDED = ("controller_manager", "joint_state_broadcaster", "forward_command_controller", "joint_trajectory_controller")
# A node that prints what it was started with, and ends.
PRINTER = """#!{python}
import pathlib, sys
print("started", *sys.argv)
for before, path in zip(sys.argv, sys.argv[1:]):
    if before == "--params-file":
        print(" ".join(pathlib.Path(path).read_text().split()))
"""


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


def installed(package):
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_what_is_not_installed_is_named_with_the_command_that_installs_it():
    done = subprocess.run(LAUNCH, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "controller_manager" in done.stderr + done.stdout
    assert "sudo apt install ros-$ROS_DISTRO-ros2-control" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_the_manager_gets_the_robots_joints_and_the_topics_of_the_walk(tmp_path):
    prefix = tmp_path / "prefix"
    for package in NEEDED:
        index = prefix / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
    for program in ("ros2_control_node", "spawner"):
        path = prefix / "lib" / "controller_manager" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PRINTER.format(python=sys.executable))
        path.chmod(0o755)
    paths = f"{prefix}{os.pathsep}{os.environ.get('AMENT_PREFIX_PATH', '')}"
    with subprocess.Popen(
        [*LAUNCH, "imu:=none", "component:=mock"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"AMENT_PREFIX_PATH": paths, "PYTHONUNBUFFERED": "1"},
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
