"""What is refused in one line: environment variables that lead elsewhere, and simulated time while a node runs."""

import os
import subprocess
import sys

import pytest
from support.ros_session import Probe, Process, wait_until

from rclpy import get_rmw_implementation_identifier

pytestmark = pytest.mark.usefixtures("domain")

LAUNCH = ["ros2", "launch", "hexapod_dynamics", "walk.launch.py"]
NOWHERE = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="nowhere0"/></Interfaces></General></Domain>'
    "</CycloneDDS>"
)


def refused(command, **environment):
    """Run a command that is to refuse; return what it has printed."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ | environment, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0 and "process started" not in output, output
    return output


def only_line(output, words):
    lines = [line for line in output.splitlines() if words in line]
    assert len(lines) == 1 and "Traceback" not in output, output
    return lines[0]


def test_a_launch_refuses_a_domain_that_is_no_number_and_touches_nothing(tmp_path):
    run = tmp_path / "a" / "run"
    (tmp_path / "etc").mkdir(mode=0o755)
    mode = (tmp_path / "etc").stat().st_mode
    output = refused(LAUNCH, ROS_DOMAIN_ID="../../etc", HEXAPOD_DYNAMICS_RUNTIME=str(run))
    assert "ROS_DOMAIN_ID" in output and "Traceback" not in output, output
    assert (tmp_path / "etc").stat().st_mode == mode


def test_a_node_refuses_a_session_that_is_no_name():
    with Process.node("damage_manager", "-p", "session:=../../x") as process:
        wait_until(lambda: not process.running(), 30, lambda: process.output)
        assert "letters, digits" in only_line(process.output, "parameter session")


@pytest.mark.parametrize("name, value", [("HEXAPOD_LAUNCH", "12; rm"), ("HEXAPOD_LAUNCH_MEMORY", "../../etc/passwd")])
def test_a_node_refuses_what_is_no_launch(name, value):
    environment = {"HEXAPOD_LAUNCH": str(os.getpid())} | {name: value}
    code = "from hexapod_dynamics.ros import start; start.damage_manager()"
    with Process(sys.executable, "-c", code, "--ros-args", "-p", "session:=s", **environment) as process:
        wait_until(lambda: name in process.output, 30, lambda: process.output)
        only_line(process.output, name)


def test_simulated_time_is_refused_while_a_node_runs_and_nothing_else_of_the_request_is_done():
    with Process.node("damage_manager") as process, Probe() as probe:
        values = {"use_sim_time": True, "legs.RM": False}
        accepted, reason = probe.set("damage_manager/set_parameters_atomically", values, 60)
        assert not accepted and "use_sim_time" in reason and "\n" not in reason
        probe.set("damage_manager/set_parameters_atomically", {"use_sim_time": False})
        assert process.running() and "Traceback" not in process.output, process.output
        assert probe.set("set_morphology", {"legs.LM": False})[0]
        heard = probe.morphology()
        wait_until(lambda: heard() and heard()["legs.LM"] is False, 10, lambda: process.output)
        assert heard()["legs.RM"] is True


@pytest.mark.skipif(
    "cyclonedds" not in get_rmw_implementation_identifier(), reason="CYCLONEDDS_URI is a setting of Cyclone DDS"
)
def test_a_node_that_cannot_be_made_because_of_a_users_own_network_names_it():
    with Process.node("damage_manager", environment={"CYCLONEDDS_URI": NOWHERE}) as process:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        assert process.popen.returncode != 0 and "CYCLONEDDS_URI is '<CycloneDDS>" in process.output, process.output
