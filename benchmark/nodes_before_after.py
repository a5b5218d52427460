"""What the nodes of two checkouts of this project cost, launched in turns on the same computer: shares of a core.

    git worktree add --detach ../before 1622dff
    python3 benchmark/nodes_before_after.py ../before [--turns 3] [--seconds 20]

A share of a core depends on the computer and on its present pace; the ratio of two runs one behind the other does not.
Each checkout is launched by its own ./with_ros2 (the sourced ROS 2, or its own pocket_ros2; so this program itself runs
without it), after its `compile`; the simulated robot walks, and nobody else subscribes. Times are those of the threads
(/proc/PID/task/*/schedstat). The launches end by SIGINT, as a user ends them.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
FIVE = ("imu", "servos", "gait", "dynamics", "damage_manager")
NODES = (*FIVE, "companions", "simulator")
STARTING, COMPILING = 30.0, 90.0  # [s]


def cpu_times(session):
    """CPU time [s] of each node by its name, among the processes of a session (its leader's PID)."""
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if os.getsid(int(process.name)) != session:
                continue
            words = [Path(word).name for word in (process / "cmdline").read_text().split("\0")[:3]]
            name = next((word for word in words if word in NODES), None)
            if name is not None:
                stats = [int(task.read_text().split()[0]) for task in process.glob("task/*/schedstat")]
                found[name] = found.get(name, 0.0) + 1e-9 * sum(stats)
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
    return found


def environment_of(tree):
    """Environment variables for a checkout: kernels compiled for it alone."""
    return {**os.environ, "HEXAPOD_DYNAMICS_CACHE": str(tree / "build" / "compiled")}


def launch(tree, seconds):
    """Launch a checkout; return the share of a core [%] of each node over so many seconds."""
    environment = environment_of(tree)
    command = [tree / "with_ros2", "ros2", "launch", "hexapod_dynamics", "walk.launch.py"]
    run = subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        time.sleep(STARTING)
        begin, before = time.monotonic(), cpu_times(run.pid)
        time.sleep(seconds)
        after, took = cpu_times(run.pid), time.monotonic() - begin
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.wait(30.0)
    missing = [name for name in FIVE if name not in before and name != "damage_manager"]
    if missing or run.returncode not in (0, -signal.SIGINT, 130):
        sys.exit(f"{tree}: {', '.join(missing) or 'the launch'} did not run, exit code {run.returncode}")
    return {name: 100.0 * (after[name] - before[name]) / took for name in before if name in after}


def prepare(tree):
    """Build a checkout and compile its model, so that its nodes do not; one without `compile` is launched for that."""
    environment = environment_of(tree)
    command = [tree / "with_ros2", "ros2", "run", "hexapod_dynamics", "compile"]
    if subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
        launch(tree, COMPILING)


def main():
    """Launch both in turns and print medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path, help="another checkout of this project")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    trees = {"before": options.before.resolve(), "now": HERE}
    if not (trees["before"] / "with_ros2").is_file():
        parser.error(f"{options.before}: no checkout of this project (it has no with_ros2)")
    shares = {name: [] for name in trees}
    for tree in trees.values():
        prepare(tree)
    for turn in range(options.turns):
        for name, tree in trees.items():
            share = launch(tree, options.seconds)
            share["the five"] = sum(share.get(node, 0.0) for node in FIVE)
            shares[name].append(share)
            print(f"turn {turn + 1}, {name}: the five {share['the five']:.1f} %", file=sys.stderr, flush=True)
    print(f"{'share of a core':16s}{'before':>9s}{'now':>9s}{'ratio':>8s}")
    for node in (*FIVE[:4], "the five"):
        before, now = (statistics.median(share[node] for share in shares[name]) for name in trees)
        print(f"{node:16s}{before:8.1f} %{now:7.1f} %{now / before:8.2f}")


if __name__ == "__main__":
    main()
