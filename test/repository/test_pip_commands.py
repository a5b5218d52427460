"""Commands that pip puts into everybody's bin directory have a prefix; those of colcon are named as for `ros2 run`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRINT_COMMANDS = """
import sys
import setuptools
from distutils.core import run_setup

package = run_setup("setup.py", script_args=sys.argv[1:], stop_after="commandline")
print(*(line.partition(" =")[0] for line in package.entry_points["console_scripts"]))
"""


def commands(*arguments):
    """Names of the commands that setup.py installs when it is called with these arguments."""
    call = [sys.executable, "-c", PRINT_COMMANDS, *arguments]
    return subprocess.run(call, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def test_a_wheel_has_no_command_without_the_prefix():
    assert all(name.startswith("hexapod-") for name in commands("bdist_wheel"))


@pytest.mark.parametrize("arguments", [("install", "--prefix", "/nowhere"), ("develop",), ("build",)])
def test_colcon_installs_the_names_of_ros2_run(arguments):
    assert {"servos", "gait", "view", "plan", "set_morphology"} <= set(commands(*arguments))


def test_a_command_that_needs_ros_2_says_so_in_one_line_where_there_is_none():
    code = """
import importlib.util
import sys

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "rclpy" else find(name, *rest)
sys.modules["rclpy"] = None
sys.argv = ["hexapod-view"]
from hexapod_dynamics.ros import start

start.view()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.startswith("hexapod-view: needs ROS 2")
