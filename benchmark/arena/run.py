"""The arena: methods that keep a broken JetHexa walking, on robots that are not their model. See docs/learning.md.

    ./with_ros2 python benchmark/arena/run.py [--methods tripod,wave,told,untold,cma,ite] [--losses 1,2,3]
        [--runs 4] [--seconds 25] [--json docs/results/arena.json]
    ./with_ros2 python benchmark/arena/run.py --methods my_file.py:MyClass,told     # a method of your own
    ./with_ros2 python benchmark/arena/run.py --archive 400     # makes the archive of IT&E
    ./with_ros2 python benchmark/arena/run.py --robots          # other robots: walked, refused, fell

cma needs `pip install cma`, --archive `pip install ribs`. Walks of methods that try gaits on the broken
robot last as long as their trials need (TRIALS at 3 s).
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

import results
from episode import Outcome, run
from methods import Ours, Tripod, Wave
from recovery import Recovery
from searching import IntelligentTrialAndError, OnlineCma, make_archive

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.worker_processes import WorkerProcesses

TRIALS = 30
# Row: how the method is made, whether it is told the damage.
METHODS: dict[str, tuple[type[Recovery], bool]] = {
    "tripod": (Tripod, False),
    "wave": (Wave, True),
    "told": (Ours, True),
    "untold": (Ours, False),
    "cma": (OnlineCma, False),
    "ite": (IntelligentTrialAndError, False),
}
NAMES = {"told": "this package, told", "untold": "this package, untold", "wave": "wave, told"}
ROBOTS = Path(__file__).resolve().parents[2]


def method_of(row: str) -> tuple[Recovery, bool]:
    """Return a method and whether it is told: a row of METHODS, or FILE.py:CLASS, or FILE.py:CLASS:told."""
    if row in METHODS:
        made, told = METHODS[row]
        return made(), told
    file, _, rest = row.partition(":")
    name, _, track = rest.partition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if not name or spec is None or spec.loader is None or not Path(file).is_file():
        raise HexapodError(f"--methods {row}: one of {', '.join(METHODS)}, or FILE.py:CLASS needed")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)(), track == "told"


def refuse_unready(rows: list[str]) -> None:
    """End with what is missing, before any walk, where a method cannot begin."""
    for row in rows:
        try:
            method_of(row)[0].reset(Robot.jethexa())
        except (HexapodError, ImportError) as error:
            sys.exit(f"--methods: {row} cannot begin: {error}")


def loss_of(robot: Robot, count: int, index: int) -> Morphology:
    """Return the index-th set of `count` torn legs of a robot, in a shuffled order."""
    sets = list(combinations(robot.leg_names, count))
    order = np.random.default_rng(count).permutation(len(sets))
    return Morphology.whole(robot).without(*sets[order[index % len(sets)]])


def one(row: str, count: int, index: int, seconds: float) -> tuple[str, int, Outcome]:
    """One walk in a process of its own."""
    (method, told), robot = method_of(row), Robot.jethexa()
    if isinstance(method, OnlineCma | IntelligentTrialAndError):
        method.most = TRIALS
        seconds = max(seconds, 3.0 * TRIALS + 15.0)
    return row, count, run(method, robot, loss_of(robot, count, index), 300 + index, told=told, seconds=seconds)


def interval(values: list[float], random: np.random.Generator) -> dict[str, float]:
    """Return mean and 95 % percentile bootstrap interval of some shares."""
    array = np.array(values)
    means = random.choice(array, (2000, len(array))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return {"share": float(array.mean()), "low": float(low), "high": float(high)}


def table(outcomes: dict[tuple[str, int], list[Outcome]], rows: list[str], counts: list[int], file: Path) -> list[str]:
    """Return the lines of the table; the shares go into a file of results, too."""
    random = np.random.default_rng(0)
    lines = [
        "| method | legs lost | walks again at 90 % | after, median | share of speed [95 %] | speed | energy | fell | "
        "trials |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = NAMES.get(row) or method_of(row)[0].name or row
        for count in counts:
            walks = outcomes[row, count]
            after = sorted(w.walks_after for w in walks if w.walks_after is not None)
            middle = after[len(after) // 2] if after else None
            share = interval([w.share for w in walks], random)
            shown = "{share:.2f} [{low:.2f}, {high:.2f}]".format(**share)
            results.record(file, row, **{("one", "two", "three")[count - 1]: {**share, "after": middle}})
            energy = [w.energy for w in walks if np.isfinite(w.energy)]
            lines.append(
                f"| {name} | {count} | {len(after)} of {len(walks)} | "
                f"{'-' if middle is None else f'{middle:.1f} s'} | {shown} | "
                f"{100 * np.mean([w.speed for w in walks]):.1f} cm/s | "
                f"{f'{np.mean(energy):.0f} J/m' if energy else '-'} | {sum(w.fell for w in walks)} | "
                f"{np.mean([w.trials for w in walks]):.1f} |"
            )
    return lines


def robots(seconds: float, runs: int) -> list[str]:
    """Return the lines of the table of other robots: this package, told, with the plans that are shipped for each."""
    lines = ["| robot | lost | result |", "|---|---|---|"]
    for name in ("hexapod_sts3215", "phantomx", "octopod", "quadruped"):
        robot = Robot.load(ROBOTS / f"config/{name}.yaml")
        plans = PlanLibrary.load(robot, ROBOTS / f"config/plans_{name}.yaml")
        for lost in [(), robot.leg_names[:1], robot.leg_names[1:2], robot.leg_names[1:3]]:
            made: list[AdaptiveGait] = []

            def make(plans: PlanLibrary = plans, made: list[AdaptiveGait] = made) -> AdaptiveGait:
                made.append(AdaptiveGait(plans=plans))
                return made[-1]

            try:
                damaged = Morphology.whole(robot).without(*lost)
                walks = [
                    run(Ours(make=make), robot, damaged, 400 + k, told=True, seconds=seconds, before=6.0, truth="")
                    for k in range(runs)
                ]
                result = result_of(walks, made[-1])
            except HexapodError as error:
                result = f"refused: {str(error).partition(';')[0][:120]}"
            lines.append(f"| {name} | {', '.join(lost) or 'nothing'} | {result} |")
            print(lines[-1], flush=True)
    return lines


def result_of(walks: list[Outcome], gait: AdaptiveGait) -> str:
    """Return what the walks of one robot and loss came to; gait: that of the last of them."""
    fell = sum(walk.fell for walk in walks)
    if fell:
        return f"{fell} of {len(walks)} fell"
    speed = f"{100 * np.mean([walk.share for walk in walks]):.0f} % of {100 * walks[0].before:.1f} cm/s"
    if gait.walking:
        return f"walked: {speed}"
    return f"{gait.doing}: {gait.report().get('why', 'no reason is given')}".partition(";")[0][:140]


def main() -> int:
    """Run, print, write."""
    parser = results.parser(__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--losses", default="1,2,3")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--archive", type=int, default=0)
    parser.add_argument("--robots", action="store_true")
    given = parser.parse_args()
    if given.archive:
        print(f"{make_archive(Robot.jethexa(), given.archive)} elites of {given.archive} walks")
        return 0
    begin, outcomes = time.monotonic(), defaultdict(list)
    if given.robots:
        lines = robots(given.seconds, given.runs)
    else:
        rows, counts = given.methods.split(","), [int(count) for count in given.losses.split(",")]
        refuse_unready(rows)
        with WorkerProcesses(given.jobs) as pool:
            futures = [
                pool.submit(one, row, count, index, given.seconds)
                for row in rows
                for count in counts
                for index in range(given.runs)
            ]
            for future in futures:
                row, count, outcome = future.result()
                outcomes[row, count].append(outcome)
                print(f"{time.monotonic() - begin:5.0f} s {row} {count} {outcome}", file=sys.stderr, flush=True)
        lines = table(outcomes, rows, counts, given.json)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
