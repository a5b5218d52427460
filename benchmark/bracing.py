"""Prints how many pushes turn a walking robot over, with and without its brace, and how often it braces for nothing.

    ./with_ros2 python benchmark/bracing.py [--runs 40] [--first 1000] [--minutes 2] [--jobs 2] [--json FILE]

MuJoCo, `servos=real` of the seed, friction 0.5 to 0.9, masses +-10 %; 0.07 m/s; after 4 to 6 s a push of 6 to 20 N s
from a random direction, 0.3 s long, 60 mm above the body's origin (at the origin none of these turns a robot over on
level ground: it slides), the same without the brace, with it, and with a brace that is told of the push as it begins.
Then walks without a push on several grounds, and walks that lose a foot or a leg that nobody declares (two in two of
five walks of the whole robot). A run takes about 0.5 s of CPU time. Progress goes to stderr,
the tables to stdout.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import sys

import numpy as np
import results
from support.walks import AFTER, LASTS, ROBOT, plain, pushed, pushed_walk

from hexapod_dynamics.gait.recovery.brace import HOLD
from hexapod_dynamics.worker_processes import WorkerProcesses

LOST = ((), ("LF",), ("RM",), ("LM", "RM"), ("LF", "RR"))
BANDS = ((6.0, 10.0), (10.0, 14.0), (14.0, 20.0))  # [N s]
GROUNDS = (
    ("level", "", ()),
    ("level", "", ("LF",)),
    ("level", "", ("LM", "RM")),
    ("8 mm rough", ",rough=0.008", ("LF", "RM")),
    ("gravel 20 mm", ",ground=gravel:0.02", ()),
    ("blocks 20 mm", ",ground=blocks:0.02", ()),
    ("steps 30 mm", ",ground=steps:0.03", ("RM",)),
)


def tell(walk):
    """Let the brace begin with the push, which it does not have to detect."""
    walk.onboard.parts.gait.brace._left = LASTS + HOLD


def push(job):
    """Impulse [N s], and whether it turns over without the brace, with it, and if the brace is told of the push."""
    seed, lost = job
    impulse = float(np.random.default_rng((7, seed)).uniform(BANDS[0][0], BANDS[-1][1]))
    over = [turned for turned, _ in pushed(seed, impulse, (plain, lambda walk: None, tell), lost=lost)]
    print(".", end="", file=sys.stderr, flush=True)
    return impulse, *over


def walk(job):
    """Number of braces of a walk that nobody pushes."""
    seed, truth, lost, seconds = job
    walk, _ = pushed_walk(seed, lost=lost, truth=truth)
    walk.run(seconds)
    print(".", end="", file=sys.stderr, flush=True)
    return walk.onboard.parts.gait.brace.count, walk.turned_over


def bereft(seed, lost=()):
    """Return a walk that loses one more leg, or the tibia of it, at a random time, and of the whole robot two in two
    of five walks; nobody tells it.
    """
    random = np.random.default_rng((11, seed))
    walk, other = pushed_walk(seed, lost=lost, speed=random.choice([0.04, 0.07, 0.1]))
    walk.run(4.0 + other.uniform(0.0, 2.0))
    left = [leg for leg in ROBOT.leg_names if leg not in lost]
    gone = random.choice(left, 1 if lost or random.random() < 0.6 else 2, replace=False)
    parts = [str(leg) if random.random() < 0.5 else f"{leg}.tibia" for leg in gone]
    walk.break_parts(walk.declared.without(*parts))
    walk.run(AFTER)
    return walk


def loss(job):
    """Whether it braced and whether it turned over, in a walk that loses a foot or a leg."""
    seed, lost = job
    walk = bereft(seed, lost)
    print(".", end="", file=sys.stderr, flush=True)
    return walk.onboard.parts.gait.brace.count > 0, walk.turned_over


def name(lost):
    return "without " + " ".join(lost) if lost else "whole"


def main():
    """Print all tables."""
    parser = results.parser(__doc__)
    parser.add_argument("--runs", type=int, default=40, help="pushes of each row")
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--minutes", type=float, default=2.0, help="of each walk without a push, in four walks")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    with WorkerProcesses(given.jobs) as pool:
        heads = " | ".join(f"{low:.0f} to {high:.0f} N s" for low, high in BANDS)
        print(f"| turned over, without the brace, with it, told | all | {heads} |\n|---|---|---|---|---|")
        for lost in LOST:
            rows = list(pool.map(push, [(given.first + k, lost) for k in range(given.runs)]))
            cells = []
            for low, high in ((0.0, 99.0), *BANDS):
                those = [row for row in rows if low <= row[0] < high]
                cells.append(f"{', '.join(str(sum(r[k] for r in those)) for k in (1, 2, 3))} of {len(those)}")
            print(f"| {name(lost)} | {' | '.join(cells)} |", flush=True)
            without, braced, told = (sum(row[k] for row in rows) for k in (1, 2, 3))
            numbers = {"without": without, "braced": braced, "told": told, "runs": given.runs}
            results.record(given.json, f"pushed, {name(lost)}", **numbers)
        print("\n| nobody pushes | braces a minute | turned over |\n|---|---|---|")
        braces = 0
        for ground, truth, lost in GROUNDS:
            jobs = [(given.first + k, truth, lost, 15.0 * given.minutes) for k in range(4)]
            rows = list(pool.map(walk, jobs))
            often, over = sum(row[0] for row in rows) / given.minutes, sum(row[1] for row in rows)
            braces += sum(row[0] for row in rows)
            print(f"| {ground}, {name(lost)} | {often:.1f} | {over} of 4 |", flush=True)
        print("\n| a foot is lost | braced | turned over |\n|---|---|---|")
        at_losses = 0
        for lost in LOST:
            rows = list(pool.map(loss, [(given.first + 2000 + k, lost) for k in range(given.runs)]))
            braced, over = sum(row[0] for row in rows), sum(row[1] for row in rows)
            at_losses += braced
            print(f"| {name(lost)} | {braced} of {given.runs} | {over} of {given.runs} |", flush=True)
    minutes, losses = round(given.minutes * len(GROUNDS)), given.runs * len(LOST)
    results.record(given.json, "not pushed", braces=braces, minutes=minutes, at_losses=at_losses, losses=losses)


if __name__ == "__main__":
    main()
