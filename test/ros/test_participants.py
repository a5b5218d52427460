"""With ROS_LOCALHOST_ONLY=1 and no setting of one's own, a robot's programs start beside ten others. With PyPI's wheels
and nothing set, nodes use the loopback interface alone, leave no shared memory, and all meet.
"""

import contextlib
import os
import pwd
import socket
import subprocess
import sys

import pytest
from support import programs
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
    return programs.run(*words)


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


PROFILES = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"  # of Jazzy, of Kilted
SEVERAL = 6  # more than the four peers that Fast DDS asks by default
NODE = """
import os, sys, time
import rclpy
rclpy.init()
node = rclpy.create_node(f"peer_{sys.argv[1]}")
end = time.monotonic() + 60.0
while len([name for name in node.get_node_names() if name.startswith("peer_")]) < int(sys.argv[2]):
    assert time.monotonic() < end, node.get_node_names()
    time.sleep(0.05)
time.sleep(1.0)  # until the others have found this one
paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
own = [os.readlink(path) for path in paths if os.path.lexists(path)]
with open("/proc/net/udp") as table:
    bound = [line.split()[1] for line in list(table)[1:] if f"socket:[{line.split()[9]}]" in own]
with open("/proc/self/maps") as maps:
    shared = [line.split()[-1] for line in maps if "/dev/shm/fastrtps" in line]
print({address.partition(":")[0] for address in bound}, shared)
"""


@pytest.mark.skipif(
    not any(os.environ.get(name, "").endswith("ros2_tools/fastdds.xml") for name in PROFILES)
    or "fastrtps" not in os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp"),
    reason="not the wheels of with_ros2 with Fast DDS, whose profile this is",
)
def test_many_nodes_meet_on_the_loopback_interface_without_shared_memory():
    separate()
    peers = [
        subprocess.Popen([sys.executable, "-c", NODE, str(number), str(SEVERAL)], stdout=subprocess.PIPE, text=True)
        for number in range(SEVERAL)
    ]
    for peer in peers:
        assert peer.communicate(timeout=120)[0] == "{'0100007F'} []\n"
