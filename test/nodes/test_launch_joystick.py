"""The joystick launch file: what is missing is named; installed, both nodes get namespace, axes and speeds."""

import os
import subprocess

import pytest
from support.stand_in_programs import installed, make_stand_ins

pytestmark = pytest.mark.usefixtures("domain")

LAUNCH = ("ros2", "launch", "hexapod_dynamics", "joystick.launch.py")


DISTRO = os.environ.get("ROS_DISTRO", "humble")


def launched(*arguments, **environment):
    done = subprocess.run(
        [*LAUNCH, *arguments], capture_output=True, text=True, timeout=60, env=os.environ | environment
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def pads(tmp_path):
    """Environment with packages joy and teleop_twist_joy whose nodes print what they are started with."""
    return make_stand_ins(tmp_path, {"joy": ["joy_node"], "teleop_twist_joy": ["teleop_node"]})


@pytest.mark.skipif(installed("joy") and installed("teleop_twist_joy"), reason="both packages are installed here")
def test_what_is_not_installed_is_named_with_its_install_line():
    code, output = launched()
    assert code == 0 and "Traceback" not in output
    missing = [name for name in ("joy", "teleop_twist_joy") if not installed(name)]
    assert f"joystick: {', '.join(missing)} not installed" in output
    assert "sudo apt install " + " ".join(f"ros-{DISTRO}-{name.replace('_', '-')}" for name in missing) in output


def test_both_nodes_start_with_namespace_axes_and_speeds(pads):
    _, output = launched("namespace:=left", "speed:=0.1", "turn:=0.4", "device:=1", **pads)
    started = [line for line in output.splitlines() if "started" in line and "__ns:=/left" in line]
    assert len(started) == 2 and "joy_node" in started[0] + started[1] and "teleop_node" in started[0] + started[1]
    for words in ("device_id: 1", "scale_linear.x: 0.1", "scale_angular.yaw: 0.4", "require_enable_button: true"):
        assert words in output, output


@pytest.mark.parametrize("wrong", ["speed:=fast", "turn:=-1", "device:=x", "enable_button:=1.5"])
def test_a_wrong_number_is_refused_by_name(pads, wrong):
    code, output = launched(wrong, **pads)
    assert code != 0 and wrong in output and "started" not in output
