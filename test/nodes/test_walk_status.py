"""The status line says what compiles and what is absent, and not what others report meanwhile."""

import re

import pytest
from ros_session import Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.nodes.common import COMPILING


@pytest.fixture
def probe():
    separate()
    probe = Probe("imu")
    yield probe
    probe.close()


def test_a_node_that_compiles_is_named_with_its_progress_and_complaints_wait(probe):
    said = probe.node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    status = Process.node("walk_status", "-p", "nodes:=[imu, gait]")
    parts = iter(range(1, 10**6))

    def tell():
        said.publish(
            DiagnosticArray(
                status=[
                    DiagnosticStatus(
                        name="imu", level=DiagnosticStatus.WARN, message=f"{COMPILING}: part {next(parts)}"
                    ),
                    DiagnosticStatus(name="servos", level=DiagnosticStatus.ERROR, message="no servo answers"),
                ]
            )
        )

    probe.node.create_timer(0.2, tell)
    try:
        wait_until(lambda: "absent: gait" in status.output, 60, lambda: status.output)
        numbers = [int(n) for n in re.findall(r"compiling, once: imu \(part (\d+), \d+ s\)", status.output)]
        assert len(numbers) > 5 and numbers == sorted(numbers) and numbers[-1] > numbers[0]
        assert "not well" not in status.output and "no servo answers" not in status.output
    finally:
        status.end()
