"""The launch files: what is refused before anything starts, what is missing is named, what else is started gets."""

import os
import re
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from launch import LaunchContext
from launch.utilities import perform_substitutions
from support.failing_once import failing_once
from support.programs import module_of, run
from support.ros_session import Process, wait_until

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.drivers.stop_request import socket_path
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.ros import launch_process
from hexapod_dynamics.runtime_directory import device_directory

pytestmark = pytest.mark.usefixtures("domain")

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ("ros2", "launch", "hexapod_dynamics", "walk.launch.py")


def launched(file, *arguments, **environment):
    """Run a launch file to its end; return its exit code and what it has printed."""
    words, given = [*LAUNCH[:-1], f"{file}.launch.py", *arguments], os.environ | environment
    done = run(*words, env=given)
    return done.returncode, done.stdout + done.stderr


def loaded(name):
    """The module of a launch file."""
    return module_of(ROOT / "launch" / f"{name}.launch.py")


@pytest.fixture
def execute(monkeypatch):
    """A function that runs a launch file in this process, which starts nothing: it returns what would be started, and
    raises RuntimeError, of which a launch prints one line, where the arguments are refused.
    """

    def execute(file, *arguments):
        context = LaunchContext()
        monkeypatch.setattr("sys.argv", [*LAUNCH[:-1], f"{file}.launch.py", *arguments])
        context.launch_configurations.update(argument.split(":=") for argument in arguments)
        entities = loaded(file).generate_launch_description().entities
        return [each for entity in entities for each in entity.execute(context) or ()]

    return execute


@pytest.mark.parametrize(
    "argument, reason",
    [
        ("damage:=XX", "the legs are LF, LM, LR, RR, RM, RF"),
        ("hardware:=moon", "['sim', 'jethexa', 'jethexa_orin', 'dynamixel', 'feetech', 'topics']"),
        ("gait:=gallop", "tripod"),
        ("robot:=/nowhere.yaml", "/nowhere.yaml"),
        ("velocity:=fast", "metres per second"),
        ("velocity:=nan", "-1 to 1 m/s"),
        ("velocity:=0_1", "metres per second"),
        ("params_file:=/nowhere.yaml", "there is no such file"),
        ("state_directory:=here", "give an absolute path"),
        ("log_level:=loud", "'debug', 'info', 'warn'"),
        ("faults:=bus.colour=1", "bus.drop_rate"),
        ("faults:=bus.drop_rate=2", "a number 0.0..1.0 is needed"),
        ("faults:=servo.hot=coxa_LF", "names an unknown joint"),
        ("faults:=board.mute=true", "bus:=board"),
        ("hardware:=feetech", "add robot:= with the file of yours"),
        ("command_interface:=commands", "is for hardware:=topics"),
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
def test_a_wrong_argument_is_refused_with_its_reason(execute, argument, reason):
    with pytest.raises(RuntimeError, match=re.escape(reason)):
        execute("walk", argument)


@pytest.mark.parametrize(
    "file, argument",
    [("walk", "velocty:=0"), ("joystick", "sped:=0.1"), ("ros2_control", "velocty:=0"), ("rviz", "namespce:=left")],
)
def test_every_launch_file_refuses_what_it_does_not_declare(execute, file, argument):
    with pytest.raises(RuntimeError, match=f"{file}.launch.py has no argument"):
        execute(file, argument)


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


def declared(launch_file, **given):
    """The context of a launch with some arguments given."""
    context = LaunchContext()
    context.launch_configurations.update(given)
    for argument in launch_file.ARGUMENTS:
        argument.execute(context)
    return context


@pytest.mark.parametrize("name", ["jethexa", "jethexa_orin", "dynamixel", "feetech", "topics", "sim"])
def test_only_the_simulated_robot_starts_to_walk_by_itself(launch_file, name):
    given = {"hardware": name, "robot": str(ROOT / "config" / "phantomx.yaml")}
    assert launch_file.checked(declared(launch_file, **given))["velocity"] == (0.077 if name == "sim" else 0.0)
    assert launch_file.checked(declared(launch_file, **given, velocity="0.05"))["velocity"] == 0.05


@pytest.mark.parametrize("given, full", [("", "/left"), ("arm", "/left/arm"), ("/arm", "/arm")])
def test_a_namespace_of_an_including_file_is_that_of_the_stop_key_too(launch_file, given, full):
    assert launch_file.checked(declared(launch_file, ros_namespace="/left", namespace=given))["namespace"] == full


def test_with_a_real_robot_no_simulator_is_started(launch_file, monkeypatch):
    monkeypatch.setattr(launch_file, "Node", lambda **options: options["executable"])
    nodes = launch_file.nodes(declared(launch_file, hardware="jethexa", namespace="real"))
    assert set(nodes) == {"imu", "servos", "dynamics", "gait", "companions"}


@pytest.fixture(scope="module")
def launch_file():
    return loaded("walk")


def test_rviz_shows_the_frames_of_the_namespace():
    config, launch_file = str(ROOT / "config" / "hexapod.rviz"), loaded("rviz")
    assert launch_file.configuration(config, "") == config
    copy = Path(launch_file.configuration(config, "/left"))
    manager = yaml.safe_load(copy.read_text())["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "left/odom"
    assert manager["Views"]["Current"]["Target Frame"] == "left/base_link"
    prefixes = [d["TF Prefix"] for d in manager["Displays"] if "TF Prefix" in d]
    assert prefixes == ["left", "left/predicted"]


def test_a_broken_parameter_file_is_one_line_and_nothing_starts(tmp_path):
    (tmp_path / "mine.yaml").write_text("gait:\n  ros__parameters:\n    step_hight: 0.03\n")
    code, output = launched("walk", f"params_file:={tmp_path / 'mine.yaml'}")
    assert code != 0 and "process started" not in output and "Traceback" not in output, output
    assert len([line for line in output.splitlines() if "step_hight" in line]) == 1 and "'step_height'" in output


def test_a_second_launch_of_the_same_robot_is_refused_before_any_node_starts(execute):
    claim = PortClaim(device_directory() / "launch", who="launch of this robot")
    claim.name("")
    with pytest.raises(RuntimeError, match=rf"another launch of this robot \(process {os.getpid()}\)"):
        execute("walk")
    claim.release()


@pytest.mark.parametrize(
    "file, missing, packages",
    [
        ("rviz", "rviz2", "rviz2"),
        ("joystick", "joy, teleop_twist_joy", "joy teleop-twist-joy"),
        ("ros2_control", "controller_manager,.*joint_trajectory_controller", "ros2-control ros2-controllers"),
        ("walk imu_filter:=imu_complementary_filter", "imu_complementary_filter", "imu-complementary-filter"),
    ],
)
def test_what_is_not_installed_is_named_with_its_install_line(execute, tmp_path, monkeypatch, file, missing, packages):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    try:
        (action,) = execute(*file.split())
        text = perform_substitutions(LaunchContext(), action.msg)
    except RuntimeError as error:  # without them nothing is left of this launch
        assert file not in ("rviz", "joystick")
        text = str(error)
    install = "sudo apt install " + " ".join(f"ros-jazzy-{name}" for name in packages.split())
    assert re.search(f"{missing} not installed", text) and install in text, text


def test_the_space_bar_stops_a_robot_though_another_one_of_the_launch_hangs_and_no_thread_starts(monkeypatch, tmp_path):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path))  # another process's sockets have the same names
    monkeypatch.setattr(launch_process._Launch, "namespaces", ["hangs", "works"])
    stopped, said = [], []
    other = StopSocket("works", lambda: (stopped.append(time.monotonic()) is None, "stopped"))
    monkeypatch.setattr(threading.Thread, "start", failing_once(threading.Thread.start, RuntimeError("no thread")))
    begin = time.monotonic()
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(socket_path("hangs"))
        hanging.listen()
        launch_process._stop_all(said.append)
    assert stopped[0] - begin < 0.4 and len(said) == 2
    other.close()


@pytest.mark.parametrize("seconds", [0.0, 0.7])
def test_a_start_that_is_broken_off_ends_quietly(seconds):
    with Process(*LAUNCH) as launch:
        wait_until(lambda: "[companions-" in launch.output, 60, lambda: launch.output)
        time.sleep(seconds)
        assert launch.interrupt()[0] < 3.5
        assert "Traceback" not in launch.output


# Stands in for a node of a package that is not installed: prints its arguments and parameter files, and ends.
_PRINTER = f"""#!{sys.executable}
import pathlib, sys
print("started", *sys.argv)
for before, path in zip(sys.argv, sys.argv[1:]):
    if before == "--params-file":
        print(" ".join(pathlib.Path(path).read_text().split()))
"""


def installed(package):
    """Whether the sourced ROS 2 has a package."""
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


def make_stand_ins(prefix, programs):
    """Make packages below a prefix with such programs, {package: names}; return the environment that finds them."""
    for package, names in programs.items():
        marker = prefix / "share/ament_index/resource_index/packages" / package
        for folder in (marker.parent, prefix / "share" / package, prefix / "lib" / package):
            folder.mkdir(parents=True, exist_ok=True)
        marker.touch()
        for name in names:
            program = prefix / "lib" / package / name
            program.write_text(_PRINTER)
            program.chmod(0o755)
    before = os.environ.get("AMENT_PREFIX_PATH", "")
    return {"AMENT_PREFIX_PATH": os.pathsep.join(filter(None, [str(prefix), before]))}


# A joystick ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pads(tmp_path):
    """Environment with packages joy and teleop_twist_joy whose nodes print what they are started with."""
    return make_stand_ins(tmp_path, {"joy": ["joy_node"], "teleop_twist_joy": ["teleop_node"]})


def test_both_nodes_start_with_namespace_axes_and_speeds(pads):
    _, output = launched("joystick", "namespace:=left", "speed:=0.1", "turn:=0.4", "device:=1", **pads)
    started = [line for line in output.splitlines() if "started" in line and "__ns:=/left" in line]
    assert len(started) == 2 and "joy_node" in started[0] + started[1] and "teleop_node" in started[0] + started[1]
    for words in ("device_id: 1", "scale_linear.x: 0.1", "scale_angular.yaw: 0.4", "require_enable_button: true"):
        assert words in output, output


def test_a_file_that_a_launch_has_made_is_gone_with_it(tmp_path):
    rviz = make_stand_ins(tmp_path, {"rviz2": ["rviz2"]})
    _, output = launched("rviz", "namespace:=left", TMPDIR=str(tmp_path), **rviz)
    assert "process started" in output and not list(tmp_path.glob("hexapod_*")), output


@pytest.mark.parametrize("wrong", ["speed:=fast", "turn:=-1", "device:=x", "enable_button:=1.5"])
def test_a_wrong_number_is_refused_by_name(execute, pads, monkeypatch, wrong):
    monkeypatch.setenv("AMENT_PREFIX_PATH", pads["AMENT_PREFIX_PATH"])
    with pytest.raises(RuntimeError, match=wrong):
        execute("joystick", wrong)


# ros2_control --------------------------------------------------------------------------------------------------------


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
