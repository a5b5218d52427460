"""The first start on the JetHexa page, on simulated devices; the steps on the host: test_jetson_setup.py."""

import shlex
import subprocess

import pytest
import yaml
from support.launched_robot import Launched
from support.ros_session import NEWEST, Process, separate, wait_until

from hexapod_dynamics.runtime_directory import IMU_BUS, SERVO_BUS, device_directory
from sensor_msgs.msg import JointState

CHECK = "ros2 run hexapod_dynamics check_robot"
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


def run(command):
    return subprocess.run(shlex.split(command), input="", capture_output=True, text=True, timeout=120)


@pytest.fixture
def robot():
    """The launch of the page, on simulated devices."""
    separate()
    robot = Launched("velocity:=0.0")
    states = robot.probe.hear(JointState, "joint_states", NEWEST, keep=5)
    try:
        robot.wait(lambda: states and robot.truth, 180, "it is launched")
        yield robot
    finally:
        robot.close()


def test_the_first_start_with_its_stop_its_calibration_and_its_walk(robot, tmp_path):
    def stopped():
        return robot.statuses.value("servos", "emergency stop") == "True"

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
    with Process(*shlex.split(WALK)):
        robot.wait(lambda: robot.moved(1.0) > 0.02, 60, "it walks")
    done = run(f"{STOP} --sit")
    assert done.returncode == 0, done.stderr
    robot.wait(lambda: robot.height < 0.06, 60, "it sits")
