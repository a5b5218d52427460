"""What a process sets in its environment before it imports numpy or initialises rclpy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# Variables that OpenBLAS, MKL and those built with OpenMP read when numpy is imported.
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
URI = (
    "<CycloneDDS><Domain><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>60</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)


def compute_in_one_thread() -> None:
    """Let this process and its children compute in one thread, unless the environment sets the number of threads.

    The threads of OpenBLAS poll for work for 0.1 s after each larger product or inverse; one inverse of 20 x 20 per
    second costs a tenth of a core. On matrices of this size more threads are no faster.
    """
    for name in THREAD_COUNTS:
        os.environ.setdefault(name, "1")


@contextmanager
def limit_child_threads() -> Iterator[None]:
    """Let the processes that are started in this context compute in one thread, not those started afterwards."""
    unset = [name for name in THREAD_COUNTS if name not in os.environ]
    compute_in_one_thread()
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


def prepare_for_ros() -> None:
    """Give HOME, below which ROS 2 logs and without which it does not start, where a service or a container has none.

    Allow more than the ten participants to which ROS_LOCALHOST_ONLY=1 limits Cyclone DDS, by CYCLONEDDS_URI, unless
    the user has set it; Fast DDS needs nothing.

    The loopback interface has no multicast. Cyclone DDS, where it is chosen by RMW_IMPLEMENTATION, then finds its peers
    by sending to the ports of the participants 0 to 9 one by one, and itself takes the first free number: one launched
    robot and the daemon of `ros2` are ten, and the next program, even the emergency stop, ends with "Failed to find a
    free participant index". Processes of this package use numbers up to 60, and send to all of these. Programs with one
    of the first ten numbers discover them, too, because they answer when they are contacted.
    """
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)  # then it is looked up
        os.environ["HOME"] = os.path.expanduser("~")
    if os.environ.get("ROS_LOCALHOST_ONLY", "").strip() == "1" and not os.environ.get("CYCLONEDDS_URI"):
        os.environ["CYCLONEDDS_URI"] = URI
