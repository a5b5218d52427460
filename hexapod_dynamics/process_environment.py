"""What a process sets in its environment before it imports numpy or initialises rclpy, and processes that compute."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

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


@contextlib.contextmanager
def worker_processes(jobs: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes that compute in one thread each, by default one for each core.

    An exception, as of Ctrl-C, ends them at once; what they have begun and what waits for them is dropped.
    """
    from concurrent.futures import ProcessPoolExecutor  # nodes, which import this module, need none
    from multiprocessing import active_children, get_context

    others = active_children()
    pool = ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=get_context("spawn"), initializer=_begin_work)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.terminate()
        raise
    pool.shutdown()


def _begin_work() -> None:
    """Leave Ctrl-C, which all processes of a terminal get, to the process that gives the work; end with it."""
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compute_in_one_thread()
    parent = parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def allow_participants() -> None:
    """Allow more than the ten participants to which ROS_LOCALHOST_ONLY=1 limits Cyclone DDS, by CYCLONEDDS_URI, unless
    the user has set it; Fast DDS needs nothing.

    The loopback interface has no multicast. Cyclone DDS, where it is chosen by RMW_IMPLEMENTATION, then finds its peers
    by sending to the ports of the participants 0 to 9 one by one, and itself takes the first free number: one launched
    robot and the daemon of `ros2` are ten, and the next program, even the emergency stop, ends with "Failed to find a
    free participant index". Processes of this package use numbers up to 60, and send to all of these. Programs with one
    of the first ten numbers discover them, too, because they answer when they are contacted.
    """
    if os.environ.get("ROS_LOCALHOST_ONLY", "").strip() == "1" and not os.environ.get("CYCLONEDDS_URI"):
        os.environ["CYCLONEDDS_URI"] = URI
