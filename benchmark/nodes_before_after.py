"""What the nodes of two checkouts of this project cost, launched in turns on the same computer: shares of a core.

    git worktree add --detach ../before 1622dff
    python3 benchmark/nodes_before_after.py ../before [--turns 3] [--seconds 20] [--together]

A share of a core depends on the computer and on its present pace; the ratio of two runs one behind the other does less,
and that of two at once not at all (--together, in two ROS domains, where there are cores for both). The ratio is the
median of those of the turns.
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
STARTING, COMPILING, ENDING = 30.0, 90.0, 30.0  # [s]
FIRST_DOMAIN = 71


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


def start(tree, domain):
    """Launch a checkout in a ROS domain."""
    command = [tree / "with_ros2", "ros2", "launch", "hexapod_dynamics", "walk.launch.py"]
    environment = {**environment_of(tree), "ROS_DOMAIN_ID": str(domain)}
    return subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def launch(trees, seconds):
    """Launch checkouts at once; return for each the share of a core [%] of each node over so many seconds."""
    runs = [start(tree, FIRST_DOMAIN + number) for number, tree in enumerate(trees)]
    try:
        time.sleep(STARTING)
        begin, before = time.monotonic(), [cpu_times(run.pid) for run in runs]
        time.sleep(seconds)
        after, took = [cpu_times(run.pid) for run in runs], time.monotonic() - begin
    finally:
        for run in runs:
            os.killpg(run.pid, signal.SIGINT)
        for run in runs:
            end(run)
    for tree, there in zip(trees, before, strict=True):
        missing = [name for name in FIVE if name not in there and name != "damage_manager"]
        if missing:
            sys.exit(f"{tree}: {', '.join(missing)} did not run")
    return [
        {name: 100.0 * (now[name] - then[name]) / took for name in then if name in now}
        for then, now in zip(before, after, strict=True)
    ]


def end(run):
    """Wait for the end of a launch that was interrupted."""
    try:
        run.wait(ENDING)
    except subprocess.TimeoutExpired:
        print(f"{run.args[0]}: the launch did not end within {ENDING:.0f} s, and is killed", file=sys.stderr)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def prepare(tree):
    """Build a checkout and compile its model, so that its nodes do not; one without `compile` is launched for that."""
    environment = environment_of(tree)
    command = [tree / "with_ros2", "ros2", "run", "hexapod_dynamics", "compile"]
    if subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
        launch([tree], COMPILING)


def main():
    """Launch both in turns and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path, help="another checkout of this project")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--together", action="store_true", help="both at once, in two ROS domains")
    options = parser.parse_args()
    trees = {"before": options.before.resolve(), "now": HERE}
    if not (trees["before"] / "with_ros2").is_file():
        parser.error(f"{options.before}: no checkout of this project (it has no with_ros2)")
    shares = {name: [] for name in trees}
    for tree in trees.values():
        prepare(tree)
    for turn in range(options.turns):
        names = list(trees)[:: 1 if turn % 2 else -1]
        groups = [names] if options.together else [[name] for name in names]
        for group in groups:
            for name, share in zip(group, launch([trees[name] for name in group], options.seconds), strict=True):
                share["the five"] = sum(share.get(node, 0.0) for node in FIVE)
                shares[name].append(share)
                print(f"turn {turn + 1}, {name}: the five {share['the five']:.1f} %", file=sys.stderr, flush=True)
    print(f"{'share of a core':16s}{'before':>9s}{'now':>9s}{'ratio':>8s}")
    for node in (*FIVE[:4], "the five"):
        before, now = (statistics.median(share[node] for share in shares[name]) for name in trees)
        ratios = [new[node] / old[node] for old, new in zip(shares["before"], shares["now"], strict=True)]
        print(f"{node:16s}{before:8.1f} %{now:7.1f} %{statistics.median(ratios):8.2f}")


if __name__ == "__main__":
    main()
