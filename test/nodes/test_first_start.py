"""The first start on a machine compiles nothing for the JetHexa; the model of another robot once, which is said."""

import re
from pathlib import Path

import pytest
from support.ros_session import Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.ros.node_functions import COMPILING


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


OTHER_ROBOT = Path(__file__).parents[1] / "robots" / "octopod.yaml"


def test_a_node_of_another_robot_says_that_it_compiles_and_the_second_start_does_not(tmp_path):
    probe = Probe()
    said = probe.hear(DiagnosticArray, "/diagnostics", keep=500)
    cache = {"HEXAPOD_DYNAMICS_CACHE": str(tmp_path / "cache")}
    node = Process.node("dynamics", "-p", f"robot:={OTHER_ROBOT}", environment=cache)

    def of_dynamics():
        return [status for _, array in list(said) for status in array.status if status.name == "dynamics"]

    def while_compiling():
        return [status.message for status in of_dynamics() if status.message.startswith(COMPILING)]

    try:
        # The last status is the node's own, and no longer that it compiles.
        wait_until(lambda: of_dynamics() and COMPILING not in of_dynamics()[-1].message, 180, lambda: node.output)
        parts = [int(re.search(r": part (\d+)$", message)[1]) for message in while_compiling()]
        assert parts == sorted(parts), parts
        assert all(s.level == DiagnosticStatus.WARN for s in of_dynamics() if s.message.startswith(COMPILING))
        assert node.output.count("compiling the model for this machine, once") == 1, node.output
        # The second start finds what the first has compiled.
        node.end()
        said.clear()
        node = Process.node("dynamics", "-p", f"robot:={OTHER_ROBOT}", environment=cache)
        wait_until(of_dynamics, 60, lambda: node.output)
        assert not while_compiling() and "compiling" not in node.output, node.output
    finally:
        node.end()
        probe.close()


@pytest.mark.parametrize("name", ["dynamics", "simulator", "gait", "damage_detector"])
def test_no_node_of_the_jethexa_compiles_anything(tmp_path, name):
    """With an empty cache, and without a compiler."""
    probe = Probe()
    said = probe.hear(DiagnosticArray, "/diagnostics", keep=500)
    node = Process.node(name, environment={"HEXAPOD_DYNAMICS_CACHE": str(tmp_path), "CC": "/nowhere/gcc"})
    try:
        wait_until(lambda: any(s.name == name for _, a in list(said) for s in a.status), 60, lambda: node.output)
        assert "compil" not in node.output, node.output
        assert not list(tmp_path.iterdir())
    finally:
        node.end()
        probe.close()
