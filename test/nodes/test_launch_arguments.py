"""The launch files: what is refused before anything starts, what is missing is named, what else is started gets."""

import importlib.util
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from launch import LaunchContext
from launch.actions import LogInfo
from launch.utilities import perform_substitutions
from support.ros_session import Probe, Process, wait_until
from support.stand_in_programs import installed, make_stand_ins

from ament_index_python.packages import PackageNotFoundError
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.runtime_directory import device_directory

pytestmark = pytest.mark.usefixtures("domain")

LAUNCH = ("ros2", "launch", "hexapod_dynamics", "walk.launch.py")
DISTRO = os.environ.get("ROS_DISTRO", "humble")


def launched(file, *arguments, **environment):
    """Run a launch file to its end; return its exit code and what it has printed."""
    words, given = [*LAUNCH[:-1], f"{file}.launch.py", *arguments], os.environ | environment
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=given, check=False)
    return done.returncode, done.stdout + done.stderr


def refused(file, *arguments, **environment):
    """Run a launch file that refuses to start anything; return what it has printed."""
    code, output = launched(file, *arguments, **environment)
    assert code != 0 and "process started" not in output, output
    return output


@pytest.mark.parametrize(
    "argument, reason",
    [
        ("damage:=XX", "the legs are LF, LM, LR, RR, RM, RF"),
        ("hardware:=moon", "['sim', 'jethexa', 'jethexa_orin', 'dynamixel', 'feetech', 'topics']"),
        ("gait:=gallop", "tripod"),
        ("robot:=/nowhere.yaml", "/nowhere.yaml"),
        ("velocity:=fast", "metres per second"),
        ("velocity:=nan", "-1 to 1 m/s"),
        ("params_file:=/nowhere.yaml", "there is no such file"),
        ("log_level:=loud", "'debug', 'info', 'warn'"),
        ("faults:=bus.colour=1", "bus.drop_rate"),
        ("truth:=weight=2", "allowed are name=number with mass, payload"),
        ("truth:=friction=-1", "friction=-1.0 given, allowed are numbers from 0.0 to 5.0"),
        ("truth:=servos=real,ground=blocks:0.02", "needs physics:=mujoco"),
        ("physics:=bullet", "mujoco"),
        ("view_port:=http", "allowed are 0 (any free port) to 65535"),
        ("view_port:=\uff18\uff10", "allowed are 0 (any free port) to 65535"),
        ("view_port:=65536", "allowed are 0 (any free port) to 65535"),
        ("view_port:=8081", "add view:=true"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_reason(launch_file, argument, reason):
    name, _, value = argument.partition(":=")
    with pytest.raises(RuntimeError, match=re.escape(reason)):
        checked(launch_file, **{name: value})


def checked(launch_file, **given):
    """The values of the launch arguments, some of which are given; a wrong one raises RuntimeError."""
    context = LaunchContext()
    context.launch_configurations.update(given)
    for argument in launch_file.ARGUMENTS:
        argument.execute(context)
    return launch_file.checked(context)


@pytest.mark.parametrize(
    "argument, reason",
    [
        ("velocity:=nan", "-1 to 1 m/s"),
        ("velocty:=0", "did you mean 'velocity'"),
    ],
)
def test_no_node_starts_of_a_launch_with_a_wrong_argument(argument, reason):
    assert reason in refused("walk", argument)


@pytest.mark.parametrize(
    "file, argument", [("joystick", "sped:=0.1"), ("ros2_control", "velocty:=0"), ("rviz", "namespce:=left")]
)
def test_every_launch_file_refuses_what_it_does_not_declare(file, argument):
    assert f"{file}.launch.py has no argument" in refused(file, argument)


@pytest.mark.parametrize(
    "passed, meant",
    [
        ("velocty", "velocity"),
        ("vew", "view"),
        ("Detect", "detect"),
        ("my_own_argument", None),
        ("ros_namespace", None),  # of PushRosNamespace
    ],
)
def test_an_included_launch_file_refuses_what_resembles_its_arguments(launch_file, passed, meant):
    context = LaunchContext()
    context.launch_configurations[passed] = "0"
    check = launch_file.generate_launch_description().entities[0]
    if meant:
        with pytest.raises(RuntimeError, match=f"did you mean '{meant}'"):
            check.execute(context)
    else:
        assert not check.execute(context)


def test_a_prefix_for_all_programs_is_no_argument_of_the_launch_file(launch_file, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", "--launch-prefix", "nice"])
    context = LaunchContext()
    context.launch_configurations["launch-prefix"] = "nice"
    assert not launch_file.generate_launch_description().entities[0].execute(context)


@pytest.mark.parametrize("name", ["jethexa", "jethexa_orin", "dynamixel", "feetech", "topics", "sim"])
def test_only_the_simulated_robot_starts_to_walk_by_itself(launch_file, name):
    assert checked(launch_file, hardware=name)["velocity"] == (0.077 if name == "sim" else 0.0)
    assert checked(launch_file, hardware=name, velocity="0.05")["velocity"] == 0.05


@pytest.fixture(scope="module")
def launch_file():
    return loaded("walk")


def loaded(name):
    """The module of a launch file."""
    path = Path(__file__).resolve().parents[2] / "launch" / f"{name}.launch.py"
    spec = importlib.util.spec_from_file_location(f"{name}_launch", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rviz_shows_the_frames_of_the_namespace():
    config, launch_file = str(Path(__file__).resolve().parents[2] / "config" / "hexapod.rviz"), loaded("rviz")
    assert launch_file.configuration(config, "") == config
    copy = Path(launch_file.configuration(config, "/left"))
    manager = yaml.safe_load(copy.read_text())["Visualization Manager"]
    copy.unlink()
    assert manager["Global Options"]["Fixed Frame"] == "left/odom"
    assert manager["Views"]["Current"]["Target Frame"] == "left/base_link"
    prefixes = [d["TF Prefix"] for d in manager["Displays"] if "TF Prefix" in d]
    assert prefixes == ["left", "left/predicted"]


def test_a_missing_rviz2_is_named_with_its_install_line_and_the_rest_starts(monkeypatch):
    launch_file, context = loaded("rviz"), LaunchContext()
    context.launch_configurations["namespace"] = ""

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(launch_file, "get_package_share_directory", absent)
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    (action,) = launch_file.rviz(context)
    assert isinstance(action, LogInfo)
    text = perform_substitutions(LaunchContext(), action.msg)
    assert "rviz2 is not installed" in text and "sudo apt install ros-jazzy-rviz2" in text


def test_a_broken_parameter_file_is_one_line_and_nothing_starts(tmp_path):
    (tmp_path / "mine.yaml").write_text("gait:\n  ros__parameters:\n    step_hight: 0.03\n")
    output = refused("walk", f"params_file:={tmp_path / 'mine.yaml'}")
    assert "Traceback" not in output
    assert len([line for line in output.splitlines() if "step_hight" in line]) == 1 and "'step_height'" in output


def test_a_second_launch_of_the_same_robot_is_refused_before_any_node_starts():
    claim = PortClaim(device_directory() / "launch", who="launch of this robot")
    claim.name("")
    output = refused("walk")
    claim.release()
    assert f"another launch of this robot (process {os.getpid()})" in output


def test_arguments_are_described():
    code, output = launched("walk", "--show-args")
    assert code == 0
    for name in ("hardware", "velocity", "gait", "damage", "robot", "namespace", "faults", "params_file", "log_level"):
        assert f"'{name}':" in output


@pytest.mark.parametrize("seconds", [0.0, 0.7])
def test_a_start_that_is_broken_off_ends_quietly(seconds):
    with Process(*LAUNCH) as launch:
        wait_until(lambda: "[companions-" in launch.output, 60, lambda: launch.output)
        time.sleep(seconds)
        took, _ = launch.interrupt()
        assert took < 3.5
        assert "Traceback" not in launch.output


@pytest.mark.slow
def test_on_the_real_robot_no_simulator_runs_and_a_missing_bus_is_named():
    with Probe() as probe, Process(*LAUNCH, "hardware:=jethexa", "namespace:=real") as launch:
        # servos is not among them: on a computer without the Jetson's pins it refuses to start, and says so.
        names = {"imu", "gait", "dynamics", "damage_manager"}
        wait_until(lambda: set(probe.node.get_node_names()) >= names, 60, lambda: launch.output[-3000:])
        wait_until(lambda: "real/imu: I2C bus 1" in launch.output, 30, lambda: launch.output[-3000:])
        assert "simulator" not in probe.node.get_node_names()
        assert launch.interrupt()[0] < 3.5 and "Traceback" not in launch.output


def test_a_domain_that_is_no_number_is_refused_and_nothing_is_touched(tmp_path):
    run = tmp_path / "a" / "run"
    (tmp_path / "etc").mkdir(mode=0o755)
    mode = (tmp_path / "etc").stat().st_mode
    output = refused("walk", ROS_DOMAIN_ID="../../etc", HEXAPOD_DYNAMICS_RUNTIME=str(run))
    assert "ROS_DOMAIN_ID" in output and "Traceback" not in output, output
    assert (tmp_path / "etc").stat().st_mode == mode


# A joystick ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pads(tmp_path):
    """Environment with packages joy and teleop_twist_joy whose nodes print what they are started with."""
    return make_stand_ins(tmp_path, {"joy": ["joy_node"], "teleop_twist_joy": ["teleop_node"]})


@pytest.mark.skipif(installed("joy") and installed("teleop_twist_joy"), reason="both packages are installed here")
def test_what_is_not_installed_is_named_with_its_install_line():
    code, output = launched("joystick")
    assert code == 0 and "Traceback" not in output
    missing = [name for name in ("joy", "teleop_twist_joy") if not installed(name)]
    assert f"joystick: {', '.join(missing)} not installed" in output
    assert "sudo apt install " + " ".join(f"ros-{DISTRO}-{name.replace('_', '-')}" for name in missing) in output


def test_both_nodes_start_with_namespace_axes_and_speeds(pads):
    _, output = launched("joystick", "namespace:=left", "speed:=0.1", "turn:=0.4", "device:=1", **pads)
    started = [line for line in output.splitlines() if "started" in line and "__ns:=/left" in line]
    assert len(started) == 2 and "joy_node" in started[0] + started[1] and "teleop_node" in started[0] + started[1]
    for words in ("device_id: 1", "scale_linear.x: 0.1", "scale_angular.yaw: 0.4", "require_enable_button: true"):
        assert words in output, output


@pytest.mark.parametrize("wrong", ["speed:=fast", "turn:=-1", "device:=x", "enable_button:=1.5"])
def test_a_wrong_number_is_refused_by_name(pads, wrong):
    code, output = launched("joystick", wrong, **pads)
    assert code != 0 and wrong in output and "started" not in output


# ros2_control --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_ros2_control_that_is_not_installed_is_named_with_the_command_that_installs_it():
    code, output = launched("ros2_control")
    assert code != 0 and "controller_manager" in output
    assert f"sudo apt install ros-{DISTRO}-ros2-control" in output and "Traceback" not in output


@pytest.mark.skipif(installed("controller_manager"), reason="ros2_control is installed")
def test_the_manager_gets_the_robots_joints_and_the_topics_of_the_walk(tmp_path):
    needed = ("joint_state_broadcaster", "forward_command_controller", "joint_trajectory_controller")
    programs = dict.fromkeys(needed, ()) | {"controller_manager": ["ros2_control_node", "spawner"]}
    environment = make_stand_ins(tmp_path, programs) | {"PYTHONUNBUFFERED": "1"}
    given = (
        "/forward_position_controller/commands:=/commands",
        "joint_state_broadcaster forward_position_controller",
        "mock_components/GenericSystem",
        "tibia_joint_RR",
    )
    with Process(*LAUNCH[:-1], "ros2_control.launch.py", "imu:=none", "component:=mock", **environment) as launch:
        wait_until(lambda: all(words in launch.output for words in given), 60, lambda: launch.output)
