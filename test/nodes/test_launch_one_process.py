"""processes:=one in a namespace: all nodes in one process walk, stop, and stay stopped over a crash of that process."""

import os
import signal
import time

import psutil
import pytest
from support.ros_session import NEWEST, Probe, Process, separate, wait_until

from nav_msgs.msg import Odometry
from std_srvs.srv import SetBool

NODES = {"imu", "servos", "dynamics", "gait", "damage_manager", "damage_detector", "robot_description"}


@pytest.fixture
def launch(tmp_path):
    separate()
    own = tmp_path / "own.yaml"  # the launch's arguments count more
    own.write_text("/left/gait:\n  ros__parameters: {velocity: 0.0, step_height: 0.025}")
    arguments = "processes:=one", "namespace:=left", f"params_file:={own}"
    launch = Process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", *arguments)
    yield launch
    launch.end()


def test_one_process_walks_and_a_stop_outlasts_its_crash(launch):
    probe = Probe()
    truth = probe.hear(Odometry, "left/simulator/odom", NEWEST, keep=500)

    def moved(seconds):
        begin = time.monotonic()
        time.sleep(seconds)
        x = [m.pose.pose.position.x for at, m in list(truth) if at > begin]
        return abs(x[-1] - x[0])

    def process():
        for each in psutil.Process(launch.pid).children(recursive=True):
            try:
                if "companions" in each.cmdline()[1]:
                    return each
            except psutil.NoSuchProcess:  # the killed one, which the launch has not waited for yet
                continue
        return None

    try:
        wait_until(lambda: truth and moved(1.0) > 0.04, 120, lambda: launch.output[-3000:])
        assert set(probe.node.get_node_names()) >= NODES
        first = process()
        assert (
            len([each for each in psutil.Process(launch.pid).children() if "simulator" not in each.cmdline()[1]]) == 1
        )
        begin = time.monotonic()
        assert probe.call(SetBool, "left/emergency_stop", SetBool.Request(data=True)).success
        assert time.monotonic() - begin < 0.5
        assert moved(2.0) < 0.005
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: process() and process().pid != first.pid, 20, "it is started again")
        wait_until(lambda: "emergency stop" in launch.output, 60, lambda: launch.output[-3000:])
        assert moved(4.0) < 0.005
        assert launch.interrupt()[0] < 5.0 and "Traceback" not in launch.output, launch.output[-3000:]
    finally:
        probe.close()
