"""Faults of the launched devices by the simulator's parameters, seen by the driver nodes: the way a user makes them."""

import pytest
from support.ros_session import NEWEST, Process, wait_until

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

PATIENCE = 120.0  # the simulator may compile its model first


@pytest.fixture(scope="module")
def robot(probe):
    nodes = [Process.node("simulator", "-p", "faults.bus.echo:=true"), Process.node("servos"), Process.node("imu")]
    yield nodes
    for node in nodes:
        took, code = node.interrupt()
        assert code == 0 and "Traceback" not in node.output, node.output
        node.end()


@pytest.fixture(scope="module")
def heard(probe, robot):
    """What the driver nodes say, once all of it is said."""
    heard = {
        "joints": probe.hear(JointState, "joint_states", NEWEST, keep=20),
        "imu": probe.hear(Imu, "imu/data", NEWEST, keep=20),
        "said": probe.hear(DiagnosticArray, "/diagnostics"),
        "odom": probe.hear(Odometry, "simulator/odom", NEWEST, keep=20),
    }
    # The devices are there before the physics; that the simulator answers services is told by its odom.
    wait_until(
        lambda: heard["joints"] and len(heard["joints"][-1][1].name) == 18 and heard["imu"] and heard["odom"],
        PATIENCE,
        lambda: "\n".join(node.output for node in robot),
    )
    return heard


def set_faults(probe, **values):
    request = SetParametersAtomically.Request()
    request.parameters = [
        Parameter("faults." + name.replace("__", "."), value=value).to_parameter_msg() for name, value in values.items()
    ]
    result = probe.call(SetParametersAtomically, "simulator/set_parameters_atomically", request).result
    return result.successful, result.reason


def says(heard, words):
    return any(words in status.message for _t, array in list(heard["said"])[-20:] for status in array.status)


def test_faults_come_and_go_by_service(probe, heard):
    assert set_faults(probe, servo__silent="tibia_joint_RF", imu__locked=True) == (True, "")
    wait_until(lambda: says(heard, "tibia_joint_RF does not answer"), 10, "the servo is missed")
    wait_until(lambda: "tibia_joint_RF" not in heard["joints"][-1][1].name, 10, "it is left out")
    wait_until(lambda: says(heard, "Connection timed out"), 10, "the IMU is missed")
    wait_until(lambda: len(heard["joints"][-1][1].name) == 17, 10, "the others are there")
    assert set_faults(probe, servo__silent="", imu__locked=False) == (True, "")
    wait_until(lambda: len(heard["joints"][-1][1].name) == 18, 10, "it is back")
    heard["imu"].clear()
    wait_until(lambda: heard["imu"], 10, "the IMU is back")
