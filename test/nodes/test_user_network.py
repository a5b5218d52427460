"""A user's own CYCLONEDDS_URI beside ROS_LOCALHOST_ONLY: the tests do not depend on it, a node that fails names it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.ros_session import Process, separate, wait_until

from rclpy import get_rmw_implementation_identifier

HERE = Path(__file__).parent
of_cyclone = pytest.mark.skipif(
    "cyclonedds" not in get_rmw_implementation_identifier(), reason="CYCLONEDDS_URI is a setting of Cyclone DDS"
)
NOWHERE = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="nowhere0"/></Interfaces></General></Domain>'
    "</CycloneDDS>"
)


@pytest.fixture(scope="module", autouse=True)
def domain():
    separate()


def test_the_tests_do_not_depend_on_it():
    """One interface that is not there made 81 errors: each test with a node, and all others in its process."""
    # The options of the run around it choose other tests.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_parameters.py", "-k", "gallop"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=HERE,
        env={**environment, "CYCLONEDDS_URI": NOWHERE},
    )
    assert run.returncode == 0 and "1 passed" in run.stdout, run.stdout


@of_cyclone
def test_a_node_that_cannot_be_made_because_of_it_names_it():
    process = Process.node("damage_manager", environment={"CYCLONEDDS_URI": NOWHERE})
    try:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        assert process.popen.returncode != 0 and "CYCLONEDDS_URI is '<CycloneDDS>" in process.output, process.output
    finally:
        process.end()


@of_cyclone
def test_a_test_whose_node_cannot_be_made_does_not_fail_the_next():
    program = f"""
import os, rclpy
from support.ros_session import Probe, separate
separate()
good, os.environ["CYCLONEDDS_URI"] = os.environ["CYCLONEDDS_URI"], {NOWHERE!r}
try:
    Probe()
except RuntimeError:
    print("refused", rclpy.ok())
os.environ["CYCLONEDDS_URI"] = good
rclpy.init()
print("next", rclpy.ok())
rclpy.shutdown()
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": f"{HERE.parent}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert run.stdout.splitlines() == ["refused False", "next True"], (run.stdout, run.stderr)
