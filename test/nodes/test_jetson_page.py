"""The first start by the JetHexa page: stop, calibration, checks and a walk, as its commands stand there."""

import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.ros_session import NEWEST, Probe, Process, separate, wait_until

from diagnostic_msgs.msg import DiagnosticArray
from hexapod_dynamics.drivers.device_paths import IMU_BUS, SERVO_BUS, device_directory
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "jetson.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are in the source tree only")
CHECK = "ros2 run hexapod_dynamics check_robot"
LAUNCH = "ros2 launch hexapod_dynamics walk.launch.py hardware:=jethexa"
STOP = "ros2 run hexapod_dynamics stop"
CALIBRATE = "ros2 service call /imu/calibrate std_srvs/srv/Trigger"
ECHO = "ros2 topic echo --once /diagnostics"
WALK = "ros2 topic pub -r 10 /cmd_vel geometry_msgs/msg/Twist '{linear: {x: 0.03}}'"


def hardware_file(directory):
    """A parameter file in place of config/hardware_jethexa.yaml, with the simulated devices of this ROS domain."""
    servos = {"port": str(device_directory() / SERVO_BUS), "direction": "adapter", "reply_timeout": 0.25}
    nodes = {"servos": servos, "imu": {"bus": str(device_directory() / IMU_BUS)}}
    file = directory / "hardware.yaml"
    file.write_text(yaml.safe_dump({f"/**/{node}": {"ros__parameters": values} for node, values in nodes.items()}))
    return file


def run(command, answers="", timeout=120):
    return subprocess.run(shlex.split(command), input=answers, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def launched():
    """The launch of the page, on simulated devices."""
    separate()
    probe = Probe()
    states = probe.hear(JointState, "joint_states", NEWEST, keep=5)
    truth = probe.hear(Odometry, "simulator/odom", NEWEST, keep=5)
    probe.hear(DiagnosticArray, "/diagnostics", 50, keep=100)
    launch = Process(*shlex.split(LAUNCH.replace("hardware:=jethexa", "hardware:=sim velocity:=0.0")))
    try:
        wait_until(lambda: states and truth, 180, lambda: launch.output[-3000:])
        yield probe, truth, launch
    finally:
        launch.end()
        probe.close()


def place(truth):
    position = truth[-1][1].pose.pose.position
    return np.array([position.x, position.y])


def test_the_first_start_with_its_stop_its_calibration_and_its_walk(launched, tmp_path):
    probe, truth, launch = launched

    def stopped():
        statuses = [s for _, m in list(probe.messages["/diagnostics"]) for s in m.status if s.name == "servos"]
        return statuses and {v.key: v.value for v in statuses[-1].values}.get("emergency stop") == "True"

    done = run(STOP)
    assert done.returncode == 0 and "frozen" in done.stdout, done.stderr
    wait_until(stopped, 20, "diagnostics tell of the stop")
    done = run(f"{STOP} --resume")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not stopped(), 20, "diagnostics tell of its end")
    done = run(CALIBRATE)
    assert done.returncode == 0 and "success=True" in done.stdout and "gyro offset" in done.stdout, done.stdout
    done = run(ECHO)
    assert done.returncode == 0 and "status:" in done.stdout, done.stderr
    refused = run(f"{CHECK} --only port,directions --hardware {hardware_file(tmp_path)}")
    assert refused.returncode == 1 and "servos)" in refused.stdout, refused.stdout + refused.stderr
    assert "Ctrl-C in the terminal of the launch" in refused.stdout and "needs the servo port" in refused.stdout
    before = place(truth)
    walking = Process(*shlex.split(WALK))
    try:
        wait_until(lambda: np.linalg.norm(place(truth) - before) > 0.05, 60, lambda: launch.output[-3000:])
    finally:
        walking.end()
    done = run(f"{STOP} --sit")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: truth[-1][1].pose.pose.position.z < 0.06, 60, "it sits")
