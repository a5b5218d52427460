"""What a node cannot start with (parameters of a wrong type or range, a missing package) is named in one line, once."""

import os
import time

import pytest
from support.ros_session import Process, wait_until

from hexapod_dynamics.ros.start import LAUNCH

pytestmark = pytest.mark.usefixtures("domain")


@pytest.mark.parametrize(
    "node, given, words",
    [
        ("gait", "rate:=50", ("parameter rate", "from 10.0 to 100.0", "decimal point")),
        ("damage_manager", "use_sim_time:=true", ("use_sim_time is true", "leave it false")),
        ("imu", "accel_range:=3", ("allowed is 2, 4, 8, 16",)),
        ("dynamics", "odom_topic:=nav/{robot}", ("odom_topic: 'nav/{robot}' is no name of a topic: ",)),
        ("servos", "direction:=both", ("allowed is adapter or gpio",)),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_of_the_node(node, given, words):
    with Process.node(node, "-p", given, "-r", "__ns:=/left") as process:
        wait_until(lambda: not process.running(), 60, lambda: process.output)
        (line,) = [line for line in process.output.splitlines() if "FATAL" in line]
        assert f"[left.{node}]" in line
        assert all(word in line for word in words), line
        assert "Traceback" not in process.output and process.popen.returncode == 1


def test_a_missing_package_is_named_once_and_not_at_each_respawn(tmp_path):
    (tmp_path / "Jetson.py").write_text("raise ImportError('no Jetson here')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    # As a launch starts it: the node that is refused waits, so that there is no respawn that says it again.
    with Process.node(
        "servos",
        "-p",
        "direction:=gpio",
        environment={"PYTHONPATH": path, LAUNCH: str(os.getpid()), "HEXAPOD_REFUSED_PAUSE": "1"},
    ) as process:
        wait_until(lambda: "pip install Jetson.GPIO" in process.output, 60, lambda: process.output)
        time.sleep(2.5)
        assert process.running(), "it waits for the end of the launch"
        assert process.output.count("Jetson") == process.output.splitlines()[-1].count("Jetson"), process.output
        assert len([line for line in process.output.splitlines() if "FATAL" in line]) == 1
        assert "Traceback" not in process.output
        seconds, _ = process.interrupt()
        assert seconds < 3.0
