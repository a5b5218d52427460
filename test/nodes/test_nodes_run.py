"""What `nodes.common.run` does for every node."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs a ROS 2: ./with_ros2 colcon test")

NODE = """
import gc
from hexapod_dynamics.nodes import start
from hexapod_dynamics.nodes.common import run
from rclpy.node import Node

class Probe(Node):
    def __init__(self):
        super().__init__('probe')
        self.made_here = [[] for _ in range(1000)]
        self.create_timer(0.01, self.tell)

    def tell(self):
        print(gc.get_freeze_count(), len(gc.get_objects()), flush=True)
        start._stopping = True

run(Probe)
"""


def test_the_collector_need_not_look_at_what_the_node_began_with():
    ended = subprocess.run([sys.executable, "-c", NODE], capture_output=True, text=True, timeout=60, check=True)
    frozen, others = map(int, ended.stdout.split())
    assert frozen > 20000 and others < 0.1 * frozen, ended.stdout
