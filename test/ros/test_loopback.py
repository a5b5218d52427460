"""With PyPI's wheels and nothing set, nodes use the loopback interface alone, leave no shared memory, and all meet."""

import os
import subprocess
import sys

import pytest
from support.ros_session import separate

PROFILES = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"  # of Jazzy, of Kilted
pytestmark = pytest.mark.skipif(
    not any(os.environ.get(name, "").endswith("ros2_tools/fastdds.xml") for name in PROFILES)
    or "fastrtps" not in os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp"),
    reason="not the wheels of with_ros2 with Fast DDS, whose profile this is",
)
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


def test_many_nodes_meet_on_the_loopback_interface_without_shared_memory():
    separate()
    peers = [
        subprocess.Popen([sys.executable, "-c", NODE, str(number), str(SEVERAL)], stdout=subprocess.PIPE, text=True)
        for number in range(SEVERAL)
    ]
    for peer in peers:
        assert peer.communicate(timeout=120)[0] == "{'0100007F'} []\n"
