"""The nodes of a launched robot have the parameters of the list, with its types, ranges and words."""

import pytest
from support.ros_session import RCLPYS_OWN, Probe, Process, separate, wait_until

from hexapod_dynamics.parameters.catalogue import NODES
from hexapod_dynamics.parameters.damage_manager import parameters_of
from hexapod_dynamics.robot import Morphology, Robot
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, ListParameters

TYPES = {
    "bool": ParameterType.PARAMETER_BOOL,
    "integer": ParameterType.PARAMETER_INTEGER,
    "double": ParameterType.PARAMETER_DOUBLE,
    "string": ParameterType.PARAMETER_STRING,
    "double_array": ParameterType.PARAMETER_DOUBLE_ARRAY,
    "string_array": ParameterType.PARAMETER_STRING_ARRAY,
}
# `view` needs viser, which a robot does not have.
LAUNCHED = [node for node in NODES if node != "view"]


@pytest.fixture(scope="module")
def probe():
    separate()
    probe = Probe()
    launch = Process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", "velocity:=0.0", "namespace:=listed")
    try:
        there = probe.node.get_node_names_and_namespaces
        wait_until(
            lambda: {name for name, place in there() if place == "/listed"} >= set(LAUNCHED),
            120,
            lambda: launch.output[-3000:],
        )
        yield probe
        assert "Traceback" not in launch.output
    finally:
        launch.end()
        probe.close()


def listed(node):
    """Return the list's parameters of a node, for the parts of this robot in the place of patterns."""
    parameters = {each.name: each for each in NODES[node] if "<" not in each.name}
    if node == "damage_manager":
        parameters |= {each.name: each for each in parameters_of(Morphology.whole(Robot.jethexa()))}
    return parameters


@pytest.mark.parametrize("node", LAUNCHED)
def test_a_node_has_the_parameters_of_the_list_and_no_others(probe, node):
    wanted = listed(node)

    def names():
        answer = probe.call(ListParameters, f"/listed/{node}/list_parameters", ListParameters.Request(), 60.0)
        return set(answer.result.names) - RCLPYS_OWN

    # A node answers once it spins, and then it has declared all.
    assert names() == wanted.keys()
    request = DescribeParameters.Request(names=list(wanted))
    answer = probe.call(DescribeParameters, f"/listed/{node}/describe_parameters", request)
    for descriptor, parameter in zip(answer.descriptors, wanted.values(), strict=True):
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        assert (
            descriptor.name,
            descriptor.type,
            descriptor.description,
            descriptor.read_only,
            [(each.from_value, each.to_value) for each in ranges],
        ) == (
            parameter.name,
            TYPES[parameter.type],
            parameter.description,
            parameter.read_only,
            [] if parameter.low is None else [(parameter.low, parameter.high)],
        )
