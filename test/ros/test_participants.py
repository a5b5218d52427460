"""With ROS_LOCALHOST_ONLY=1 and no setting of one's own, a robot's programs start beside ten others."""

import contextlib
import os
import pwd
import socket
import subprocess
import sys

import pytest
from support.driver_session import Robots
from support.ros_session import Probe, Process, is_used, separate, wait_until

from hexapod_dynamics.process_environment import prepare_for_ros
from sensor_msgs.msg import JointState

STOP = (sys.executable, "-m", "hexapod_dynamics.tools.stop", "--timeout", "10")


@pytest.fixture
def plain(monkeypatch):
    """A domain of the test's own, in which ROS 2 has its own settings."""
    separate()
    monkeypatch.delenv("CYCLONEDDS_URI")


def ports(domain, index):
    """The two UDP ports of a participant, as the DDS interoperability protocol (RTPS 2.2, 9.6.1.1) has them."""
    discovery = 7400 + 250 * domain + 10 + 2 * index
    return discovery, discovery + 1


@contextlib.contextmanager
def ten_places_taken():
    """Hold those ports of the participants 0 to 9 that are free, as ten processes of ROS 2 would."""
    with contextlib.ExitStack() as held:
        for index in range(10):
            for port in ports(int(os.environ["ROS_DOMAIN_ID"]), index):
                taken = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                with contextlib.suppress(OSError):  # the probe has it
                    taken.bind(("127.0.0.1", port))
        yield


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def test_the_emergency_stop_reaches_the_servos_with_ten_other_programs_running_and_a_plain_one_hears_them(plain):
    probe = Probe()  # a program that has one of the ten places
    robot = Robots()
    states = probe.hear(JointState, "joint_states", keep=5)
    servos = Process.node("servos")
    try:
        wait_until(lambda: states and len(states[-1][1].name) == 18, 30, lambda: servos.output)
        with ten_places_taken():
            done = run(*STOP)
        assert (done.returncode, done.stdout.strip()) == (
            0,
            "the pose is frozen until `stop --resume`, or emergency_stop with false",
        ), done.stderr
    finally:
        servos.end()
        robot.close()
        probe.close()


def test_tests_leave_a_domain_alone_in_which_somebody_is(plain):
    assert not is_used(domain := int(os.environ["ROS_DOMAIN_ID"]))
    probe = Probe()
    assert is_used(domain)
    probe.close()


def test_the_users_own_setting_and_an_open_network_stay_as_they_are(plain, monkeypatch):
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "0")
    monkeypatch.setenv("HOME", "")  # as none, to ROS 2
    prepare_for_ros()
    assert "CYCLONEDDS_URI" not in os.environ and os.environ["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "1")
    monkeypatch.setenv("CYCLONEDDS_URI", "<CycloneDDS/>")
    prepare_for_ros()
    assert os.environ["CYCLONEDDS_URI"] == "<CycloneDDS/>"
