"""What one node assumes of another has one declaration and one place in the parameter file."""

from pathlib import Path

import pytest
import yaml
from support.ros_session import RCLPYS_OWN, separate

import rclpy
from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from hexapod_dynamics.nodes.gait import declare_command_rate
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.node_functions import declare, declare_all
from rclpy.node import Node
from rclpy.parameter import Parameter

NODES_YAML = Path(__file__).parents[2] / "config" / "nodes.yaml"
ROBOT = Robot.jethexa()


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


def test_each_section_of_the_file_has_its_own_names_and_the_shared_ones_are_in_the_common_section(make):
    sections = {name: set(each["ros__parameters"]) for name, each in yaml.safe_load(NODES_YAML.read_text()).items()}
    common = sections.pop("/**")
    node = make()
    declare(node, COMMAND_PERIOD)
    declare_all(node, GUARD, ROBOT)
    shared = set(node._parameters) - RCLPYS_OWN
    assert common == shared - {"speed_limit"}  # which is the robot's own
    for section, names in sections.items():
        assert not names & (shared | {"rate"} if "gait" in section else shared), section


def test_all_take_the_same_values_from_the_common_section(make):
    values = yaml.safe_load(NODES_YAML.read_text())["/**"]["ros__parameters"]
    values = {name: value * 0.5 for name, value in values.items()}
    first, second = (GuardSettings(**declare_all(make(**values), GUARD, ROBOT)) for _ in range(2))
    assert first == second
    assert (first.approach_speed, first.step_limit, first.feedforward_limit) == (0.4, 0.25, 0.05)


def test_the_detector_models_the_commands_with_their_period():
    separate()
    rclpy.init(args=["--ros-args", "-p", "command_period:=0.05"])
    node = DamageDetectorNode()
    assert node.detection.detector.features.model.period == 0.05
    node.destroy_node()
    rclpy.shutdown()
