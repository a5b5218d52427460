"""processes:=one in a namespace: all nodes in one process walk, stop, and stay stopped over a crash of that process."""

import os
import signal
import time

import psutil
import pytest
from support.launched_robot import Launched

from std_srvs.srv import SetBool

NODES = {"imu", "servos", "dynamics", "gait", "damage_manager", "damage_detector", "robot_description"}


@pytest.fixture
def robot(probe, tmp_path):
    own = tmp_path / "own.yaml"  # the launch's arguments count more
    own.write_text("/left/gait:\n  ros__parameters: {velocity: 0.0, step_height: 0.025}")
    robot = Launched(probe, "processes:=one", "namespace:=left", f"params_file:={own}", namespace="left/")
    yield robot
    robot.close()


def test_one_process_walks_and_a_stop_outlasts_its_crash(robot):
    launch = robot.launch

    def process():
        for each in psutil.Process(launch.pid).children(recursive=True):
            try:
                if "companions" in each.cmdline()[1]:
                    return each
            except psutil.NoSuchProcess:  # the killed one, which the launch has not waited for yet
                continue
        return None

    robot.wait(lambda: robot.truth and robot.moved(1.0) > 0.04, 120, "it walks")
    assert set(robot.probe.node.get_node_names()) >= NODES
    first = process()
    assert len([each for each in psutil.Process(launch.pid).children() if "simulator" not in each.cmdline()[1]]) == 1
    begin = time.monotonic()
    assert robot.probe.call(SetBool, "left/emergency_stop", SetBool.Request(data=True)).success
    assert time.monotonic() - begin < 0.5
    assert robot.moved(2.0) < 0.005
    said = len(launch.output)
    os.kill(first.pid, signal.SIGKILL)
    robot.wait(lambda: process() and process().pid != first.pid, 20, "it is started again")
    robot.wait(lambda: "emergency stop" in launch.output[said:], 60, "it knows of the stop")
    assert robot.moved(3.0) < 0.005
    assert launch.interrupt()[0] < 5.0 and "Traceback" not in launch.output, launch.output[-3000:]
