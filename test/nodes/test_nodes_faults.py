"""Parameters of nodes: faults of the simulated devices, the way a user makes them, and values that nobody means, which
are refused with a reason, or taken, and the node goes on.
"""

import os
import time

import pytest
from support.programs import python
from support.ros_session import NEWEST, Process, wait_until

from hexapod_dynamics.devices.faults import FAULTS
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter, parameter_value_to_python
from sensor_msgs.msg import Imu, JointState

NODES = ("simulator", "servos", "imu", "gait", "damage_manager")
PATIENCE = 120.0  # the simulator may compile its model first
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
def robot(probe):
    """The nodes, {name: process}."""
    echo = {"simulator": ("-p", "faults.bus.echo:=true")}
    nodes = {name: Process.node(name, *echo.get(name, ())) for name in NODES}
    yield nodes
    for node in nodes.values():
        took, code = node.interrupt()
        assert code == 0 and "Traceback" not in node.output, node.output
        node.end()


@pytest.fixture(scope="module")
def heard(probe, robot):
    """What the driver nodes say, once all of it is said."""
    heard = {
        "joints": probe.hear(JointState, "joint_states", NEWEST, keep=20),
        "imu": probe.hear(Imu, "imu/data", NEWEST, keep=20),
        "odom": probe.hear(Odometry, "simulator/odom", NEWEST, keep=20),
    }
    # The devices are there before the physics; that the simulator answers services is told by its odom.
    wait_until(
        lambda: heard["joints"] and len(heard["joints"][-1][1].name) == 18 and heard["imu"] and heard["odom"],
        PATIENCE,
        lambda: "\n".join(node.output for node in robot.values()),
    )
    return heard


def set_faults(probe, **values):
    faults = {"faults." + name.replace("__", "."): value for name, value in values.items()}
    return probe.set("simulator/set_parameters_atomically", faults)


def get_fault(probe, name):
    answer = probe.call(GetParameters, "simulator/get_parameters", GetParameters.Request(names=[f"faults.{name}"]))
    return parameter_value_to_python(answer.values[0])


def in_a_process_of_its_own(code):
    return python("-c", code, check=True).stdout.strip()


def test_every_fault_is_a_parameter_with_its_description(probe, heard):
    names = [f"faults.{name}" for name in FAULTS]
    answer = probe.call(DescribeParameters, "simulator/describe_parameters", DescribeParameters.Request(names=names))
    assert [d.description for d in answer.descriptors] == [fault.description for fault in FAULTS.values()]
    assert get_fault(probe, "bus.echo") is True, "as it was started"


def test_the_simulated_devices_wait_for_a_processor_no_more_than_real_ones(probe, heard):
    """Without a priority a simulated servo answered 2 ms late in the median, and joints were read half as often."""
    may = in_a_process_of_its_own(
        "from hexapod_dynamics.drivers.thread_priority import *; print(raise_process_priority(9))"
    )
    may = may if len(os.sched_getaffinity(0)) > 1 else "normal"  # nothing would be left to the nodes on one processor
    wait_until(lambda: probe.statuses.value("simulator", "priority") == may, 10, f"has {may}")


def test_ground_truth_stands_in_the_world(heard):
    assert heard["odom"][-1][1].header.frame_id == "world"


def test_faults_come_and_go_by_service(probe, heard):
    assert set_faults(probe, servo__silent="tibia_joint_RF", imu__locked=True) == (True, "")
    probe.statuses.says("servos", "tibia_joint_RF does not answer")
    wait_until(lambda: "tibia_joint_RF" not in heard["joints"][-1][1].name, 10, "it is left out")
    probe.statuses.says("imu", "Connection timed out")
    wait_until(lambda: len(heard["joints"][-1][1].name) == 17, 10, "the others are there")
    assert set_faults(probe, servo__silent="", imu__locked=False, bus__unplugged=True) == (True, "")
    probe.statuses.says("servos", "is gone")
    heard["joints"].clear()
    time.sleep(0.3)
    assert not heard["joints"], "what was measured before is not published again"
    assert set_faults(probe, bus__unplugged=False) == (True, "")
    wait_until(lambda: heard["joints"] and len(heard["joints"][-1][1].name) == 18, 10, "it is back")
    heard["imu"].clear()
    wait_until(lambda: heard["imu"], 10, "the IMU is back")


@pytest.mark.parametrize("values", [{"bus__drop_rate": 2.0}, {"servo__silent": "nobody"}, {"bus__drop_rate": "much"}])
def test_a_fault_that_cannot_be_is_refused_and_nothing_changes(probe, heard, values):
    accepted, reason = set_faults(probe, bus__flip_rate=0.001, **values)
    assert not accepted and reason
    assert get_fault(probe, "bus.flip_rate") == 0.0 and get_fault(probe, "bus.drop_rate") == 0.0


@pytest.mark.parametrize("name", [name for name in NODES if name != "imu"])
def test_no_parameter_and_no_request_ends_a_node(probe, robot, name):
    """Parameters of no type, or of no name: test/ros/test_malformed_messages.py."""
    process = robot[name]

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
    unknown = ["nobody", "", "x" * 100_000, *chosen]
    call(GetParameters, "get_parameters", GetParameters.Request(names=unknown))
    call(DescribeParameters, "describe_parameters", DescribeParameters.Request(names=unknown))
    call(ListParameters, "list_parameters", ListParameters.Request(prefixes=["", "x" * 1000], depth=2**64 - 1))
    assert len(call(GetParameters, "get_parameters", GetParameters.Request(names=["robot"])).values) == 1
    assert "Traceback" not in process.output, process.output
