"""What another host sends is not even parsed: every UDP socket of a node is bound to the loopback interface."""

import socket
import subprocess
import sys

import pytest
from domains import reserve_domain

SCRIPT = """
import os, rclpy, socket
rclpy.init()
node = rclpy.create_node("here")
for name in os.listdir("/proc/self/fd"):
    try:
        with socket.socket(fileno=os.dup(int(name))) as each:
            if each.type == socket.SOCK_DGRAM and each.family == socket.AF_INET:
                device = each.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).strip(b"\\0").decode()
                print("socket", device or "anywhere")
    except OSError:
        pass
node.destroy_node()
rclpy.shutdown()
"""


@pytest.mark.skipif(not hasattr(socket, "SO_BINDTODEVICE"), reason="Linux only")
@pytest.mark.parametrize("local, device", [(None, "lo"), ("1", "lo"), ("0", "anywhere")])
def test_sockets_are_bound_to_loopback_unless_the_network_is_wanted(monkeypatch, local, device):
    monkeypatch.delenv("CYCLONEDDS_URI", raising=False)
    monkeypatch.delenv("ROS_LOCALHOST_ONLY", raising=False)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(reserve_domain()))
    if local is not None:
        monkeypatch.setenv("ROS_LOCALHOST_ONLY", local)
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    sockets = [line for line in done.stdout.splitlines() if line.startswith("socket ")]
    assert len(sockets) >= 3, done.stderr
    assert set(sockets) == {f"socket {device}"}
