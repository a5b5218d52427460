"""processes:=one in a namespace: all nodes in one process stand on five legs, with the parameters of the list, walk,
stop, and stay stopped over a crash of that process.

One session serves all tests of this file; they run in the order in which they stand.
"""

import os
import signal
import time

import psutil
import pytest
from support.launched_robot import Launched
from support.ros_session import NEWEST, RCLPYS_OWN

from hexapod_dynamics.parameters.catalogue import NODES
from hexapod_dynamics.parameters.damage_manager import list_parameters
from hexapod_dynamics.robot import Morphology, Robot
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, ListParameters
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

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
def robot(probe, tmp_path_factory):
    own = tmp_path_factory.mktemp("parameters") / "own.yaml"  # the launch's arguments count more
    own.write_text("/left/gait:\n  ros__parameters: {velocity: 0.05, step_height: 0.025}")
    given = (
        "processes:=one",
        "namespace:=left",
        f"params_file:={own}",
        "velocity:=0.0",
        "damage:=RM",
        "detect:=report",
    )
    robot = Launched(probe, *given, namespace="left/")
    yield robot
    robot.close()


def test_a_robot_in_a_namespace_stands_on_five_legs_and_disturbs_no_other(robot):
    probe = robot.probe
    joints = probe.hear(JointState, "/left/simulator/joint_states", NEWEST)
    predicted = probe.hear(Odometry, "/left/predicted_state", NEWEST)
    other = probe.hear(Odometry, "/predicted_state", NEWEST)
    torques = probe.hear(JointState, "/left/feedforward_torques", NEWEST)
    # Nobody has told the software: the prediction waits a while for three joints, then begins without them.
    robot.wait(lambda: robot.truth and joints and predicted and torques, 120, "all is published")
    assert len(joints[-1][1].name) == 15 and len(torques[-1][1].name) == 18
    assert robot.truth[-1][1].header.frame_id == "world"
    assert (predicted[-1][1].header.frame_id, predicted[-1][1].child_frame_id) == ("left/odom", "left/base_link")
    assert probe.set("/left/set_morphology", {"legs.RM": False}, timeout=60) == (True, "")
    robot.wait(lambda: len(torques[-1][1].name) == 15, 10, "the prediction knows")
    x = [m.pose.pose.position.x for _, m in robot.truth]
    assert abs(x[-1] - x[0]) < 0.005
    assert not other
    there = probe.node.get_node_names_and_namespaces
    robot.wait(lambda: {name for name, place in there() if place == "/left"} >= set(LAUNCHED), 60, "all nodes run")


def listed(node):
    """Return the list's parameters of a node, for the parts of this robot in the place of patterns."""
    parameters = {each.name: each for each in NODES[node] if "<" not in each.name}
    if node == "damage_manager":
        parameters |= {each.name: each for each in list_parameters(Morphology.whole(Robot.jethexa()))}
    return parameters


@pytest.mark.parametrize("node", LAUNCHED)
def test_a_node_has_the_parameters_of_the_list_and_no_others(robot, node):
    wanted, probe = listed(node), robot.probe
    # A node answers once it spins, and then it has declared all.
    answer = probe.call(ListParameters, f"/left/{node}/list_parameters", ListParameters.Request(), 60.0)
    assert set(answer.result.names) - RCLPYS_OWN == wanted.keys()
    request = DescribeParameters.Request(names=list(wanted))
    answer = probe.call(DescribeParameters, f"/left/{node}/describe_parameters", request)
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


def test_one_process_walks_and_a_stop_outlasts_its_crash(robot):
    launch = robot.launch

    def process():
        for each in psutil.Process(launch.pid).children(recursive=True):
            try:
                if "companions" in "".join(each.cmdline()[1:2]):  # nothing of one that has just ended
                    return each
            except psutil.NoSuchProcess:  # the killed one, which the launch has not waited for yet
                continue
        return None

    robot.drive(0.077)
    robot.wait(lambda: robot.moved(1.0) > 0.04, 60, "it walks")
    first = process()
    assert len([each for each in psutil.Process(launch.pid).children() if "simulator" not in each.cmdline()[1]]) == 1
    begin = time.monotonic()
    assert robot.probe.call(SetBool, "left/emergency_stop", SetBool.Request(data=True)).success
    assert time.monotonic() - begin < 0.5
    assert robot.moved(2.0) < 0.005
    said = len(launch.output)
    os.kill(first.pid, signal.SIGKILL)
    robot.wait(lambda: process() and process().pid != first.pid, 20, "it is started again")
    robot.wait(lambda: "emergency stop" in launch.output[said:], 60, "it knows of the stop")
    assert robot.moved(3.0) < 0.005
    assert launch.interrupt()[0] < 5.0 and "Traceback" not in launch.output, launch.output[-3000:]
