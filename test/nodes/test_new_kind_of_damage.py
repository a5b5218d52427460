"""A new kind of damage in the nodes: set_morphology declares it, damage_manager holds it, the status line names it."""

import os
import sys
from pathlib import Path

import pytest
from support.bent_joint import BENT
from support.ros_session import Process, wait_until

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.robot import Morphology, Robot
from rcl_interfaces.srv import DescribeParameters, GetParameters

TESTS = Path(__file__).resolve().parents[1]


def start(program, *arguments):
    """Start a program (`ros.start`) in a process that has the kind of damage `bent`."""
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    command = (sys.executable, "-m", "support.bent_joint", "hexapod_dynamics.ros.start", program)
    return Process(*command, *arguments, PYTHONPATH=paths)


@pytest.fixture
def manager():
    with start("damage_manager") as process:
        yield process


@pytest.fixture
def status():
    with start("walk_status") as process:
        yield process


def declare(*words):
    """Call set_morphology; return its exit code and output."""
    with start("set_morphology", *words) as process:
        return process.popen.wait(30.0), process.output


def test_a_bent_joint_is_declared_held_named_and_repaired(probe, manager, status):
    with KINDS.including(BENT):
        intact = Morphology.whole(Robot.jethexa())
        whole, bent = intact.parameters(), intact.updated({"bent.RF.tibia": 0.35}).parameters()
    last = probe.morphology()
    wait_until(lambda: last() == whole, 30, lambda: manager.output)
    code, output = declare("--bent", "RF.tibia=0.35")
    assert code == 0, output
    wait_until(lambda: last() == bent, 10, lambda: f"the topic has it: {last()}")
    name = "bent.RF.tibia"
    value = probe.call(GetParameters, "damage_manager/get_parameters", GetParameters.Request(names=[name])).values[0]
    assert value.double_value == 0.35
    request = DescribeParameters.Request(names=[name])
    described = probe.call(DescribeParameters, "damage_manager/describe_parameters", request).descriptors[0]
    assert "bent joint of link RF.tibia" in described.description
    assert described.floating_point_range[0].to_value == pytest.approx(6.283, abs=1e-3)
    wait_until(lambda: "| missing: RF.tibia bent by 0.35" in status.output, 10, lambda: status.output)

    code, output = declare("--bent", "RM.tibia=20")
    assert code == 1 and "did you mean 0.349?" in output
    code, output = declare("--limp", "RF.tibia")
    assert code == 1 and "the joint is bent, so it does not move; set bent.RF.tibia to 0.0 first" in output
    code, output = declare("--restore", "RF")
    assert code == 0, output
    wait_until(lambda: last() == whole, 10, lambda: f"the topic has it: {last()}")
