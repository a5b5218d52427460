"""Values of parameters and requests that nobody means: refused with a reason, or taken, and the node goes on."""

import contextlib

import pytest
from support.ros_session import Process, wait_until

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter

NODES = ("servos", "gait", "damage_manager", "simulator")  # which makes the devices that the others find
ODD = [
    True,
    -(2**63),
    2**63 - 1,
    float("nan"),
    float("inf"),
    -1e308,
    "",
    "x" * 100_000,
    "../../../etc/passwd",
    "\ufffd\n\t",
    [1.0] * 10_000,
    ["y" * 100] * 100,
    [2**62],
    [False],
]


@pytest.fixture(scope="module")
def nodes(probe):
    """The nodes, {name: process}."""
    with contextlib.ExitStack() as started:
        yield {name: started.enter_context(Process.node(name)) for name in NODES}


@pytest.mark.parametrize("name", NODES)
def test_no_parameter_and_no_request_ends_a_node(probe, nodes, name):
    process = nodes[name]

    def call(kind, service, request):
        response = probe.call(kind, f"{name}/{service}", request, timeout=60)
        assert process.running(), process.output
        return response

    names = list(call(ListParameters, "list_parameters", ListParameters.Request()).result.names)
    assert "robot" in names
    # Whether a node may follow a simulated clock is another question.
    names = [each for each in names if each != "use_sim_time" and not each.startswith("qos_overrides")]
    chosen = names if len(names) < 40 else names[:: len(names) // 40 + 1]
    for odd in ODD:
        values = [Parameter(each, value=odd).to_parameter_msg() for each in chosen]
        results = call(SetParameters, "set_parameters", SetParameters.Request(parameters=values)).results
        assert len(results) == len(chosen)
        assert all(result.successful or result.reason for result in results)
    unset = [ParameterMessage(name=n) for n in chosen]
    call(SetParameters, "set_parameters", SetParameters.Request(parameters=unset))
    strange = [ParameterMessage(name="\0x" * 1000, value=ParameterValue(type=kind)) for kind in (1, 4, 9, 77, 255)]
    results = call(SetParameters, "set_parameters", SetParameters.Request(parameters=strange)).results
    assert len(results) == len(strange) and not any(result.successful for result in results[-2:])
    assert all("allowed are 0 to 9" in result.reason for result in results[-2:])
    whole = SetParametersAtomically.Request(parameters=strange)
    assert not call(SetParametersAtomically, "set_parameters_atomically", whole).result.successful

    def counted():
        return any(pair.key.startswith("malformed requests to") for pair in probe.statuses(name).values)

    wait_until(counted, 20, lambda: process.output)
    unknown = ["nobody", "", "x" * 100_000, *chosen]
    call(GetParameters, "get_parameters", GetParameters.Request(names=unknown))
    call(DescribeParameters, "describe_parameters", DescribeParameters.Request(names=unknown))
    call(ListParameters, "list_parameters", ListParameters.Request(prefixes=["", "x" * 1000], depth=2**64 - 1))
    assert len(call(GetParameters, "get_parameters", GetParameters.Request(names=["robot"])).values) == 1
    assert "Traceback" not in process.output, process.output
