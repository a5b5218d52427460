"""The first start on a machine: what compiles is said with its progress, and nobody is called unwell for it."""

import re
import shutil

import pytest
from support.ros_session import Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.code_cache import cache_directory
from hexapod_dynamics.ros.node_functions import COMPILING


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


def missing_some(cache):
    """A copy of this user's compiled code without some of what `dynamics` compiles: all of it takes a minute."""
    if cache_directory().is_dir():
        shutil.copytree(
            cache_directory(),
            cache,
            ignore=shutil.ignore_patterns("library-*", "loops-*", "feedforward-*"),
        )
    return str(cache)


def test_a_node_that_compiles_says_how_far_it_is_and_the_status_line_shows_it(tmp_path):
    probe = Probe()
    said = probe.hear(DiagnosticArray, "/diagnostics", keep=500)
    status = Process.node("walk_status", "-p", "nodes:=[dynamics]")
    cache = {"HEXAPOD_DYNAMICS_CACHE": missing_some(tmp_path / "cache")}
    node = Process.node("dynamics", environment=cache)

    def of_dynamics():
        return [status for _, array in list(said) for status in array.status if status.name == "dynamics"]

    def while_compiling():
        return [status.message for status in of_dynamics() if status.message.startswith(COMPILING)]

    try:
        # The last status is the node's own, and no longer that it compiles.
        wait_until(lambda: of_dynamics() and COMPILING not in of_dynamics()[-1].message, 180, lambda: node.output)
        parts = [int(re.search(r": part (\d+)$", message)[1]) for message in while_compiling()]
        assert len(parts) >= 3 and parts == sorted(parts) and parts[-1] > parts[0], parts
        assert all(s.level == DiagnosticStatus.WARN for s in of_dynamics() if s.message.startswith(COMPILING))
        assert node.output.count("compiling the model for this machine, once") == 1, node.output
        lines = [line for line in status.output.splitlines() if "compiling, once: dynamics (part " in line]
        assert lines, status.output
        assert not any("not well: dynamics" in line for line in lines), lines
        # The second start finds what the first has compiled.
        node.end()
        said.clear()
        node = Process.node("dynamics", environment=cache)
        wait_until(of_dynamics, 60, lambda: node.output)
        assert not while_compiling() and "compiling" not in node.output, node.output
    finally:
        node.end()
        status.end()
        probe.close()
