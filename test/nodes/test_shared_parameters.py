"""What one node assumes of another has one declaration."""

import pytest
from support.ros_session import separate

import rclpy
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from hexapod_dynamics.nodes.gait import declare_command_rate
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD
from hexapod_dynamics.ros.node_functions import declare
from rclpy.node import Node
from rclpy.parameter import Parameter


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
