"""What a node cannot start with (a wrong parameter or environment, a missing package) is named in one line, once; what
one node assumes of another has one declaration.
"""

import os
import sys
import time

import pytest
from support.ros_session import LATCHED, Probe, Process, separate, wait_until

import rclpy
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from hexapod_dynamics.nodes.gait import declare_command_rate
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD
from hexapod_dynamics.ros.node_functions import declare
from hexapod_dynamics.ros.start import LAUNCH_VARIABLE
from rclpy import get_rmw_implementation_identifier
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

pytestmark = pytest.mark.usefixtures("domain")
NOWHERE = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="nowhere0"/></Interfaces></General></Domain>'
    "</CycloneDDS>"
)


@pytest.mark.parametrize(
    "node, given, words",
    [
        ("gait", "rate:=50", ("parameter rate", "from 10.0 to 100.0", "decimal point")),
        ("damage_manager", "use_sim_time:=true", ("use_sim_time is true", "leave it false")),
        ("imu", "accel_range:=3", ("allowed is 2, 4, 8, 16",)),
        ("dynamics", "odom_topic:=nav/{robot}", ("odom_topic: 'nav/{robot}' is no name of a topic: ",)),
        ("dynamics", "odom_topic:=predicted_state", ("odom_topic: 'predicted_state' is another topic of this node",)),
        ("dynamics", "odom_topic:=/left/imu/data", ("odom_topic: '/left/imu/data' is another topic of this node",)),
        ("servos", "direction:=both", ("allowed is adapter or gpio",)),
        ("damage_manager", "session:=../../x", ("parameter session", "letters, digits")),
        ("servos", "state_directory:=relative", ("state_directory",)),
        ("servos", "state_directory:=/proc/hexapod", ("state_directory",)),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_of_the_node(node, given, words):
    with Process.node(node, "-p", given, "-r", "__ns:=/left") as process:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        (line,) = [line for line in process.output.splitlines() if "FATAL" in line]
        assert f"[left.{node}]" in line
        assert all(word in line for word in words), line
        assert "Traceback" not in process.output and process.popen.returncode == 1


def test_a_missing_package_is_named_once_and_not_at_each_respawn(tmp_path):
    (tmp_path / "Jetson.py").write_text("raise ImportError('no Jetson here')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    # As a launch starts it: the node that is refused waits, so that there is no respawn that says it again.
    environment = {"PYTHONPATH": path, LAUNCH_VARIABLE: str(os.getpid())}
    with Process.node("servos", "-p", "direction:=gpio", environment=environment) as process:
        wait_until(lambda: "pip install Jetson.GPIO" in process.output, 60, lambda: process.output)
        time.sleep(2.5)
        assert process.running(), "it waits for the end of the launch"
        assert process.output.count("Jetson") == process.output.splitlines()[-1].count("Jetson"), process.output
        assert len([line for line in process.output.splitlines() if "FATAL" in line]) == 1
        assert "Traceback" not in process.output
        seconds, _ = process.interrupt()
        assert seconds < 3.0


@pytest.mark.parametrize(
    "arguments, environment, said",
    [
        (("--params-file", "/no/such.yaml"), {}, "Couldn't parse params file"),
        (("-p", "rate:=["), {}, "'-p rate:=['"),
        (("--parms-file", "x.yaml"), {}, "['--parms-file', 'x.yaml']"),
        ((), {"ROS_DOMAIN_ID": "home"}, "ROS_DOMAIN_ID is not an integral number"),
    ],
)
def test_a_node_that_ros_does_not_start_says_why_in_one_line(arguments, environment, said):
    with Process.node("damage_manager", *arguments, environment=environment) as process:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        assert "ROS 2 does not start: " in process.output and said in process.output
        assert process.popen.returncode == 1 and "Traceback" not in process.output


@pytest.mark.parametrize("name, value", [("HEXAPOD_LAUNCH", "12; rm"), ("HEXAPOD_LAUNCH_MEMORY", "../../etc/passwd")])
def test_a_node_refuses_what_is_no_launch(name, value):
    environment = {"HEXAPOD_LAUNCH": str(os.getpid())} | {name: value}
    code = "from hexapod_dynamics.ros import start; start.damage_manager()"
    with Process(sys.executable, "-c", code, "--ros-args", "-p", "session:=s", **environment) as process:
        wait_until(lambda: name in process.output, 30, lambda: process.output)
        assert len([line for line in process.output.splitlines() if name in line]) == 1, process.output
        assert "Traceback" not in process.output, process.output


def test_simulated_time_is_refused_while_a_node_runs_and_nothing_else_of_the_request_is_done():
    with Process.node("damage_manager") as process, Probe() as probe:
        values = {"use_sim_time": True, "legs.RM": False}
        accepted, reason = probe.set("damage_manager/set_parameters_atomically", values, 60)
        assert not accepted and "use_sim_time" in reason and "\n" not in reason
        probe.set("damage_manager/set_parameters_atomically", {"use_sim_time": False})
        assert process.running() and "Traceback" not in process.output, process.output
        assert probe.set("set_morphology", {"legs.LM": False})[0]
        heard = probe.morphology()
        wait_until(lambda: heard() and heard()["legs.LM"] is False, 10, lambda: process.output)
        assert heard()["legs.RM"] is True


@pytest.mark.skipif(
    "cyclonedds" not in get_rmw_implementation_identifier(), reason="CYCLONEDDS_URI is a setting of Cyclone DDS"
)
def test_a_node_that_cannot_be_made_because_of_a_users_own_network_names_it():
    with Process.node("damage_manager", environment={"CYCLONEDDS_URI": NOWHERE}) as process:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        assert process.popen.returncode != 0 and "CYCLONEDDS_URI is '<CycloneDDS>" in process.output, process.output


def test_of_nodes_that_share_a_process_the_one_with_a_wrong_parameter_is_named_and_the_others_run():
    with Probe() as probe, Process.node("companions", "-p", "damage_detector:declare:=7.0") as process:
        description = probe.hear(String, "robot_description", LATCHED)
        wait_until(lambda: description, 120, lambda: process.output)
        wait_until(lambda: "| missing: nothing" in process.output, 30, lambda: process.output)  # the status line
        names = probe.node.get_node_names()
        assert "damage_manager" in names and "damage_detector" not in names
        assert process.output.count("[damage_detector]") == 1 and "parameter declare" in process.output
        took, code = process.interrupt()
        assert code == 0 and took < 3.0 and "Traceback" not in process.output, process.output


@pytest.fixture
def make():
    """Return a function that makes a node with parameter overrides."""
    separate()
    rclpy.init()
    nodes = []

    def make(**values):
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        nodes.append(Node(f"node_{len(nodes)}", parameter_overrides=overrides))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def test_the_gaits_rate_is_that_of_the_command_period(make):
    assert declare_command_rate(make()) == declare(make(), COMMAND_PERIOD) == 0.02
    faster = make(command_period=0.0125)
    assert declare_command_rate(faster) == 0.0125 and faster.get_parameter("rate").value == 80.0
    with pytest.raises(ParameterError, match="rate is 80.0 and command_period 0.02.*to 0.0125"):
        declare_command_rate(make(rate=80.0))


def test_the_detector_models_the_commands_with_their_period():
    separate()
    rclpy.init(args=["--ros-args", "-p", "command_period:=0.05"])
    node = DamageDetectorNode()
    assert node.detection.detector.features.model.period == 0.05
    node.destroy_node()
    rclpy.shutdown()
