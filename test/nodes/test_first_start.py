"""The first start on a machine: no node compiles anything, for whatever robot, and none needs a compiler."""

from pathlib import Path

import pytest
from support.ros_session import Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


OTHER_ROBOT = Path(__file__).parents[2] / "config" / "phantomx.yaml"


@pytest.mark.parametrize("name", ["dynamics", "simulator"])
def test_no_node_of_another_robot_needs_a_compiler(tmp_path, name):
    probe = Probe()
    said = probe.hear(DiagnosticArray, "/diagnostics", keep=500)
    node = Process.node(name, "-p", f"robot:={OTHER_ROBOT}", environment={"CC": "/nowhere/gcc"})
    try:
        wait_until(lambda: any(s.name == name for _, a in list(said) for s in a.status), 60, lambda: node.output)
        assert "compil" not in node.output, node.output
    finally:
        node.end()
        probe.close()
