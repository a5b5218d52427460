"""How simulate_many grows from one core to two: threads, processes, a dask LocalCluster. About a minute.

    ./with_ros2 python3 benchmark/growth.py [--seconds S]

All single damages of the JetHexa (42), each walking for S simulated seconds (default 13). Each kind is measured on one
core and on all, in turns, best of three; starting processes or a cluster is not counted, sending tasks and results is.
The cores are shared with whatever else runs: the best that two threads can reach is printed beside, from a loop that
needs nothing but its registers.
"""

import argparse
import hashlib
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from dask.distributed import Client, LocalCluster
from simulation import single_damages

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import simulate_many


def spin(count):
    """A loop in C, in the first cache, without the interpreter's lock."""
    return hashlib.pbkdf2_hmac("sha256", b"word", b"salt", count)


@contextmanager
def dask_executor(workers):
    """An executor on a LocalCluster of as many processes of one thread."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


KINDS = {"threads": ThreadPoolExecutor, "processes": ProcessPoolExecutor, "dask LocalCluster": dask_executor}


def measure(executors, work, rounds=3):
    """Best time [s] of the work on each executor, in turns."""
    best = dict.fromkeys(executors, np.inf)
    for _ in range(rounds):
        for name, executor in executors.items():
            begin = time.perf_counter()
            work(executor)
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=13.0, help="simulated time of each walk")
    seconds = parser.parse_args().seconds
    robot, cores = Robot.jethexa(), len(os.sched_getaffinity(0))
    damages = single_damages(robot)

    def walk(executor):
        simulate_many(robot, damages, seconds, executor, log_every=100, progress=lambda done, count: None)

    def spinning(executor):
        list(executor.map(spin, [300_000] * 8))

    print(f"{len(damages)} walks of {seconds:g} s simulated; wall time [s]")
    print(f"{'executor':22}{'1 core':>9}{f'{cores} cores':>9}{'gain':>7}")
    for name, kind in ({"(a loop, threads)": ThreadPoolExecutor} | KINDS).items():
        work = spinning if name.startswith("(") else walk
        with kind(1) as one, kind(cores) as all_of_them:
            executors = {1: one, cores: all_of_them}
            for executor in executors.values():
                work(executor)  # starts workers, loads code
            best = measure(executors, work)
        print(f"{name:22}{best[1]:9.2f}{best[cores]:9.2f}{best[1] / best[cores]:7.2f}", flush=True)


if __name__ == "__main__":
    main()
