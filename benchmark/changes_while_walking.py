"""What happens when legs are lost in the middle of the walk.

    python benchmark/changes_while_walking.py [--physics both] [--seeds 2] [--counts 1,2,3] [--classes] [--jobs 2]
    python benchmark/changes_while_walking.py --times

The robot walks at 7.7 cm/s and loses one, two or three legs at eight phases of the cycle; the gait is told 0.3 s later
(the time in which a silent servo is found). Printed for each group: from the loss to the first whole cycle at 90 % of
the commanded speed, largest tilt, flips, walks that did not come back within 20 s. The simulated robot differs from the
model by seed as in benchmark/recovery.py.

--times: how much processor time a plan change takes, without any simulation: all losses of one and two legs, under the
commands TIMED, at eight phases of the walk.
"""

import os
import sys
import time
from collections import defaultdict
from concurrent.futures import as_completed
from itertools import combinations

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results
from recovery import LEGS, ROBOT, SPEED, WHOLE, truth

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.simulation import MujocoSimulator, Simulator
from hexapod_dynamics.worker_processes import WorkerProcesses

PHYSICS = {"built_in": Simulator, "mujoco": MujocoSimulator}
GROUPS = {1: "one leg", 2: "two legs", 3: "three legs"}
PHASES, TOLD_AFTER, WATCHED, STEP = 8, 0.3, 20.0, 0.1
# Twists [m/s, m/s, rad/s] under which changes are timed; 0.4 m/s: the fastest that the gait allows.
TIMED = ((SPEED, 0, 0), (0.04, 0, 0), (-SPEED, 0, 0), (0, 0.06, 0), (0, 0, 0.4), (0.06, 0, 0.2), (0.4, 0, 0))


def simulator(physics, seed):
    """Return a robot that has walked for 4 s."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(SPEED, 0.0, 0.0)
    sim = PHYSICS[physics](ROBOT, gait=gait, timestep=2e-3, command_period=0.02, truth=truth(seed))
    sim.run(4.0, log_every=50)
    return sim


def lose(physics, lost, phase, seed):
    """Return (time to 90 % [s] or NaN, largest tilt [deg]) of a walk that loses legs at a phase."""
    sim = simulator(physics, seed)
    for _ in range(200):  # to the phase, at the pace of the commands
        if abs((sim.gait.phase - phase + 0.5) % 1.0 - 0.5) < 0.02:
            break
        sim.run(0.02)
    start, rotation = sim.position.copy(), sim.rotation.copy()
    hurt = WHOLE.without(*lost)
    told, sim.gait = sim.gait, None  # the gait is not told yet
    sim.set_morphology(hurt)
    sim.gait = told
    tilt, way = 0.0, [0.0]
    for k in range(round(WATCHED / STEP)):
        if abs(k * STEP - TOLD_AFTER) < 1e-9:
            told.set_morphology(hurt)
        log = sim.run(STEP, log_every=10)
        tilt = max(tilt, np.degrees(np.arccos(np.clip(log.rotation[:, 2, 2], -1.0, 1.0))).max())
        way.append(float((rotation.T @ (sim.position - start))[0]))
    way = np.array(way)
    window = max(1, round(told.period / STEP))
    speed = (way[window:] - way[:-window]) / (window * STEP)
    reached = np.flatnonzero(speed >= 0.9 * SPEED)
    reached = reached[reached * STEP > TOLD_AFTER]
    return (reached[0] * STEP if reached.size else np.nan), tilt


def change_times(lost):
    """Return the processor times [s] of the plan changes when legs are lost."""
    whole, changes = AdaptiveGait().bind(ROBOT), []
    for command in TIMED:
        for k in range(PHASES):
            walking = whole.copy()
            walking.reset(walking=True, phase=k / PHASES)
            walking.command(*command)
            for _ in range(60):  # until the command is followed
                walking.step(0.02)
            begin = time.thread_time()
            walking.set_morphology(WHOLE.without(*lost))
            changes.append(time.thread_time() - begin)
    return changes


def print_times(file):
    """Print the table of --times."""
    AdaptiveGait().bind(ROBOT)
    print("| lost | changes | median | 99 % | largest |\n|---|---|---|---|---|")
    for count in (1, 2):
        changes = 1e3 * np.concatenate([change_times(lost) for lost in combinations(LEGS, count)])
        results.record(file, f"times, {GROUPS[count]}", largest=changes.max(), changes=changes.size)
        figures = " | ".join(f"{np.percentile(changes, q):.1f} ms" for q in (50, 99, 100))
        print(f"| {GROUPS[count]} | {changes.size} | {figures} |")


def main():
    """Run all and print the tables."""
    parser = results.parser(__doc__)
    parser.add_argument("--physics", default="both", choices=["built_in", "mujoco", "both"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--counts", default="1,2,3", help="how many legs are lost")
    parser.add_argument("--classes", action="store_true", help="one set of legs of each mirror pair")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--times", action="store_true", help="only the processor time of a plan change")
    given = parser.parse_args()
    if given.times:
        print_times(given.json)
        return
    worlds = list(PHYSICS) if given.physics == "both" else [given.physics]
    counts = [int(count) for count in given.counts.split(",")]
    sets = PlanLibrary(ROBOT).lost_sets(3) if given.classes else [s for n in GROUPS for s in combinations(LEGS, n)]
    lost = [each for each in sets if len(each) in counts]
    losses = defaultdict(list)
    with WorkerProcesses(given.jobs) as pool:
        futures = {}
        for physics in worlds:
            for seed in range(given.first, given.first + given.seeds):
                for each in lost:
                    for k in range(PHASES):
                        futures[pool.submit(lose, physics, each, k / PHASES, seed)] = physics, each, seed, k
        for done, future in enumerate(as_completed(futures), start=1):
            physics, each, seed, k = futures[future]
            losses[physics, GROUPS[len(each)]].append(("+".join(each), seed, k, *future.result()))
            if sys.stderr.isatty() or done % 50 == 0 or done == len(futures):
                print(f"\r{done} of {len(futures)} walks", end="", file=sys.stderr, flush=True)
    print("\n| physics | lost in the walk | walks | 90 % after (median) | worst | most tilt | flipped | not in 20 s |")
    print("|---|---|---|---|---|---|---|---|")
    for (physics, group), rows in losses.items():
        times, tilts = np.array([row[3] for row in rows]), np.array([row[4] for row in rows])
        print(
            f"| {physics} | {group} | {len(rows)} | {np.nanmedian(times):.1f} s | {np.nanmax(times):.1f} s | "
            f"{tilts.max():.0f} deg | {np.count_nonzero(tilts > 60.0)} | {np.count_nonzero(np.isnan(times))} |"
        )
        numbers = {"median": np.nanmedian(times), "worst": np.nanmax(times), "walks": len(rows)}
        results.record(given.json, group, **{physics: numbers})


if __name__ == "__main__":
    main()
