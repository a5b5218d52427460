"""The commands of the JetHexa page on simulated devices; the steps on the host: test_jetson_setup.py."""

import shlex
import subprocess

import numpy as np
import pytest
import yaml
from support.ros_session import NEWEST, Probe, Process, separate, wait_until

from hexapod_dynamics.drivers.device_paths import IMU_BUS, SERVO_BUS, device_directory
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools.commissioning.suspended_robot import SuspendedRobot
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

ON_A_JETHEXA = " --port /dev/ttyTHS1 --direction gpio"
TOOL = f"ros2 run hexapod_dynamics servo_tool{ON_A_JETHEXA} "
CHECK = "ros2 run hexapod_dynamics check_robot"
LAUNCH = "ros2 launch hexapod_dynamics walk.launch.py hardware:=jethexa"
STOP = "ros2 run hexapod_dynamics stop"
CALIBRATE = "ros2 service call /imu/calibrate std_srvs/srv/Trigger"
ECHO = "ros2 topic echo --once /diagnostics"
WALK = "ros2 topic pub -r 10 /cmd_vel geometry_msgs/msg/Twist '{linear: {x: 0.03}}'"


@pytest.fixture
def suspended():
    """A simulated robot that hangs, with its device files where the tools look for them."""
    separate()
    robot = SuspendedRobot(Robot.jethexa(), device_directory())
    robot.start()
    yield robot
    robot.stop()


def hardware_file(directory):
    """A parameter file in place of config/hardware_jethexa.yaml, with the simulated devices of this ROS domain."""
    servos = {"port": str(device_directory() / SERVO_BUS), "direction": "adapter", "reply_timeout": 0.25}
    nodes = {"servos": servos, "imu": {"bus": str(device_directory() / IMU_BUS)}}
    file = directory / "hardware.yaml"
    file.write_text(yaml.safe_dump({f"/**/{node}": {"ros__parameters": values} for node, values in nodes.items()}))
    return file


def run(command, answers="", timeout=120):
    return subprocess.run(shlex.split(command), input=answers, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize(
    "verb, words",
    [
        ("scan", "tibia_joint_RF"),
        ("read femur_joint_LM", "servo 9: femur_joint_LM"),
        ("move femur_joint_LF 0.2", "femur_joint_LF is at 0.2"),
        ("calibrate tibia_joint_LF 1.4", "saved"),
    ],
)
def test_the_commands_of_servo_tool(suspended, verb, words):
    command = (TOOL + verb).replace(ON_A_JETHEXA, " --reply-timeout 0.25 --yes")
    done = run(command.replace("scan", "scan --last 18"))
    assert done.returncode == 0 and words in done.stdout, done.stdout + done.stderr


def test_center_brings_all_joints_to_the_reference_pose(suspended):
    done = run((TOOL + "center").replace(ON_A_JETHEXA, " --reply-timeout 0.25 --yes"))
    assert done.returncode == 0, done.stdout + done.stderr
    np.testing.assert_allclose(suspended.angles, 0.0, atol=0.005)


def test_set_id_gives_a_new_servo_the_id_of_the_old_one(suspended):
    index = int(np.flatnonzero(suspended.servos.ids == 1)[0])
    suspended.servos.present[:] = np.arange(18) == index
    done = run((TOOL + "set-id 1 7").replace(ON_A_JETHEXA, " --reply-timeout 0.02 --yes"))
    assert done.returncode == 0 and suspended.servos.ids[index] == 7, done.stdout + done.stderr


def test_check_robot_on_the_devices_of_a_robot(suspended, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    devices = f" --hardware {hardware_file(tmp_path)}"
    done = run(f"{CHECK} --report check.md{devices}")
    assert done.returncode == 1 and "keep it still" in done.stdout, "nobody answered: nothing moved"
    assert not suspended.servos.loaded.any() and "not run" in (tmp_path / "check.md").read_text()
    done = run(f"{CHECK} --only directions --joints femur_joint_LF{devices}", answers="y\ny\n")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(f"{CHECK} --simulated --only port,servos,imu,axes,stop")  # all of it: test/tools/test_check_robot.py
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def launched():
    """The launch of the page, on simulated devices."""
    separate()
    probe = Probe()
    states = probe.hear(JointState, "joint_states", NEWEST, keep=5)
    truth = probe.hear(Odometry, "simulator/odom", NEWEST, keep=5)
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
        return probe.statuses.value("servos", "emergency stop") == "True"

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
