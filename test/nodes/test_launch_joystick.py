"""The joystick launch file: what is missing is named; installed, both nodes get namespace, axes and speeds."""

import os
import subprocess
import sys

import pytest
from support.ros_session import separate

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

LAUNCH = ("ros2", "launch", "hexapod_dynamics", "joystick.launch.py")
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


def launched(*arguments, **environment):
    done = subprocess.run(
        [*LAUNCH, *arguments], capture_output=True, text=True, timeout=60, env=os.environ | environment
    )
    return done.returncode, done.stdout + done.stderr


def installed(package):
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


@pytest.fixture
def pads(tmp_path):
    """Environment with packages joy and teleop_twist_joy whose nodes print what they are started with."""
    for package, executable in (("joy", "joy_node"), ("teleop_twist_joy", "teleop_node")):
        marker = tmp_path / "share/ament_index/resource_index/packages" / package
        program = tmp_path / "lib" / package / executable
        for path in (marker, program):
            path.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        (tmp_path / "share" / package).mkdir(parents=True)
        program.write_text(PRINTER.format(python=sys.executable))
        program.chmod(0o755)
    before = os.environ.get("AMENT_PREFIX_PATH", "")
    return {"AMENT_PREFIX_PATH": os.pathsep.join(filter(None, [str(tmp_path), before]))}


@pytest.mark.skipif(installed("joy") and installed("teleop_twist_joy"), reason="both packages are installed here")
def test_what_is_not_installed_is_named_with_its_install_line():
    code, output = launched()
    assert code == 0 and "Traceback" not in output
    missing = [name for name in ("joy", "teleop_twist_joy") if not installed(name)]
    assert f"joystick: {', '.join(missing)} not installed" in output
    assert "sudo apt install " + " ".join(f"ros-humble-{name.replace('_', '-')}" for name in missing) in output


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
