"""What `ros.running` does for every node."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs a ROS 2: ./with_ros2 colcon test")

INVERSE = """
import sys, types
from hexapod_dynamics.ros import start

def measure():
    import os
    import numpy as np
    np.linalg.inv(np.eye(300) + 0.01)
    print(len(os.listdir('/proc/self/task')), flush=True)
    os._exit(0)

sys.modules['hexapod_dynamics.nodes.probe'] = types.SimpleNamespace(Probe=None)
sys.modules['hexapod_dynamics.ros.running'] = types.SimpleNamespace(run_together=lambda classes, args: measure())
start.NODES['probe'] = 'Probe'
start._make_entry('probe', ['probe'])()
"""


def threads_of_an_inverse(**environment):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    ended = subprocess.run(
        [sys.executable, "-c", INVERSE], capture_output=True, text=True, timeout=60, check=True, env=clean | environment
    )
    return int(ended.stdout)


def test_the_matrix_library_of_a_node_has_no_threads_of_its_own():
    if threads_of_an_inverse(OPENBLAS_NUM_THREADS="2", MKL_NUM_THREADS="2", OMP_NUM_THREADS="2") == 1:
        pytest.skip("this numpy's matrix library has no threads")
    assert threads_of_an_inverse() == 1
