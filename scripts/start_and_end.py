"""Start the launched robot and end it by Ctrl-C, again and again: how long each end takes, and what is left.

    ./with_ros2 python scripts/start_and_end.py --times 20 --busy 2

--busy: so many endless loops beside it. The exit code is 1 if an end took longer than --within [s], was not clean, or
left a process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = ("ros2", "launch", "hexapod_dynamics", "walk.launch.py", "velocity:=0.05")
WALKS = "cm/s"  # in the first status line with a speed
PATIENCE = 60.0  # [s] for a start, and for an end


def of_session(session: int) -> list[int]:
    """Return the ids of the living processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):  # it has just ended
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def start_and_end(domain: str) -> tuple[float, float, int, list[int]]:
    """Return times [s] of the start (to the first speed) and of the end, exit code, and the processes that are left."""
    environment = {**os.environ, "ROS_DOMAIN_ID": domain, "PYTHONUNBUFFERED": "1"}
    began = time.monotonic()
    launch = subprocess.Popen(
        COMMAND,
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for line in launch.stdout or ():
            if WALKS in line or time.monotonic() - began > PATIENCE:
                break
        walked = time.monotonic()
        os.killpg(launch.pid, signal.SIGINT)  # as a terminal does
        with contextlib.suppress(subprocess.TimeoutExpired):
            launch.communicate(timeout=PATIENCE)
        ended = time.monotonic()
        left = of_session(launch.pid)
    finally:  # also where this script is interrupted
        for process in of_session(launch.pid):
            os.kill(process, signal.SIGKILL)
    return walked - began, ended - walked, launch.returncode, left


def main() -> int:
    """Run the starts and ends and print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--within", type=float, default=2.0)
    parser.add_argument("--domain", default="11")
    args = parser.parse_args()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    ends, bad = [], 0
    try:
        for number in range(1, args.times + 1):
            up, down, code, left = start_and_end(args.domain)
            ends.append(down)
            bad += down > args.within or code != 0 or bool(left)
            print(f"{number}: walks after {up:.1f} s, ends in {down:.2f} s, code {code}, left {left}", flush=True)
    finally:
        for loop in loops:
            loop.kill()
    print(f"{len(ends)} ends: median {sorted(ends)[len(ends) // 2]:.2f} s, longest {max(ends):.2f} s, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
