"""Walks over slopes, blocks, steps and patches with the legs that are left: prints what arrives, and how fast.

    ./with_ros2 python benchmark/ground.py [--grounds slope:20,blocks:0.04] [--lost whole,LM,LF+RM,LF+LR+RM] [--runs 5]
        [--first 1000] [--way ahead|sideways|turn] [--metres 3] [--jobs 1] [--json FILE]

Each run: MuJoCo, `Truth.parse("servos=real,ground=...,seed=N")` with a friction of 0.6 to 0.9, and the robot's whole
program (`Onboard`) but for the damage detector. The robot stands, learns which legs it has lost, and is commanded
7.7 cm/s straight ahead (--way sideways: 4 cm/s to its left; turn: 0.25 rad/s). A run arrives when it has come so many
metres in the commanded direction, or has turned once round, and gives up at a third of the speed. Each line: ground,
lost legs, runs that arrive, share of the commanded speed (median and least of those that arrive), error (median and
largest of those: how far it is beside its way, as a share of that; of a turn: how far from where it began, as a share
of the way of a foot), falls over, reason of those that did not arrive.
"""

import argparse
import os
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results
from support.walks import walk_on

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.plan_change import NOMINAL_VELOCITY
from hexapod_dynamics.onboard.simulation import TICK
from hexapod_dynamics.worker_processes import WorkerProcesses

GROUNDS = (
    "flat,slope:15,slope:20,slope:20:down,slope:20:across,blocks:0.03,blocks:0.04,steps:0.04,stairs,gravel,patches"
)
LOST = "whole,LM,LF+RM,LF+LR+RM"
WAYS = {"ahead": (NOMINAL_VELOCITY, 0.0, 0.0), "sideways": (0.0, 0.04, 0.0), "turn": (0.0, 0.0, 0.25)}
FOOT = 0.2  # [m] from the middle of the body to a foot
SLOWEST = 0.33  # share of the commanded speed at which a run gives up
FALLEN = 60.0  # tilt of the body [deg]


class Course:
    """The way of a walk that is commanded so: how far it has come [m, rad], and how far beside its way [m]."""

    def __init__(self, walk, way):
        self.walk, self.way, self.turned = walk, way, 0.0
        self.start, self.yaw = walk.physics.position[:2].copy(), self._yaw()

    def _yaw(self):
        rotation = self.walk.physics.rotation
        return np.arctan2(rotation[1, 0], rotation[0, 0])

    def look(self):
        """Follow the heading."""
        yaw = self._yaw()
        self.turned += np.angle(np.exp(1j * (yaw - self.yaw)))
        self.yaw = yaw

    @property
    def come(self):
        """How far it has come."""
        x, y = self.walk.physics.position[:2] - self.start
        return {"ahead": x, "sideways": y, "turn": self.turned}[self.way]

    @property
    def beside(self):
        """How far it is beside its way, a share of this."""
        x, y = self.walk.physics.position[:2] - self.start
        if self.way == "turn":
            return np.hypot(x, y) / max(FOOT * abs(self.turned), 1e-6)
        return abs({"ahead": y, "sideways": x}[self.way]) / max(abs(self.come), 1e-6)


def run(job):
    """One run: ground, lost, seed, whether it arrived, share of the speed, whether it fell, largest tilt, reason, how
    far it came, its error.
    """
    ground, lost, seed, metres, way, settings = job
    gait = AdaptiveGait(**settings)
    friction = np.random.default_rng((28, seed)).uniform(0.6, 0.9)
    walk = walk_on(ground, () if lost == "whole" else tuple(lost.split("+")), seed, gait, friction)
    walk.twist[:] = WAYS[way]
    course, begin, tilts, asleep = Course(walk, way), walk.time, [0.0], 0.0
    far, speed = (2.0 * np.pi if way == "turn" else metres), max(WAYS[way])

    def ends(walk):
        nonlocal asleep
        tilts.append(np.degrees(walk.tilt))
        course.look()
        asleep = 0.0 if walk.gait.walking else asleep + TICK
        return course.come >= far or tilts[-1] > FALLEN or asleep > 8.0

    walk.run(far / (SLOWEST * speed), until=ends)
    come, seconds = course.come, walk.time - begin
    fell = max(tilts) > FALLEN
    reason = "" if come >= far else "fell" if fell else walk.gait.report().get("why") or walk.gait.doing
    walk.onboard.close()
    share = come / seconds / speed
    return ground, lost, seed, come >= far, share, fell, max(tilts), reason, come, course.beside


def line(ground, lost, rows):
    """The line of a cell of the table."""
    shares = [row[4] for row in rows if row[3]]
    speed = f"{np.median(shares):.2f} ({min(shares):.2f})" if shares else "-"
    beside = [row[9] for row in rows if row[3]]
    error = f"{np.median(beside):.2f} ({max(beside):.2f})" if beside else "-"
    reasons = "; ".join(f"{why} ({count})" for why, count in Counter(row[7] for row in rows if not row[3]).items())
    falls = sum(row[5] for row in rows)
    return f"| {ground} | {lost} | {len(shares)} of {len(rows)} | {speed} | {error} | {falls} | {reasons} |"


def main():
    """Run all and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--grounds", default=GROUNDS)
    parser.add_argument("--lost", default=LOST)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--way", default="ahead", choices=list(WAYS))
    parser.add_argument("--metres", type=float, default=3.0)
    parser.add_argument("--lift", type=float, default=0.02, help="step height [m] that is asked for")
    parser.add_argument("--jobs", type=int, default=1)
    results.add_option(parser)
    given = parser.parse_args()
    settings = {"step_height": given.lift}
    cells = [(ground, lost) for ground in given.grounds.split(",") for lost in given.lost.split(",")]
    print(
        "| ground | lost | arrive | share of the speed | error | fell | those that did not arrive |\n"
        "|---|---|---|---|---|---|---|"
    )
    with WorkerProcesses(given.jobs) as pool:
        for ground, lost in cells:
            jobs = [(ground, lost, given.first + k, given.metres, given.way, settings) for k in range(given.runs)]
            rows = list(pool.map(run, jobs) if given.jobs > 1 else map(run, jobs))
            print(line(ground, lost, rows), flush=True)
            shares = [row[4] for row in rows if row[3]] or [0.0]
            cell = {"arrived": sum(row[3] for row in rows), "walks": len(rows)}
            cell |= {"median": np.median(shares), "least": min(shares)}
            results.record(given.json, f"{given.way} {ground}".removeprefix("ahead "), **{lost: cell})


if __name__ == "__main__":
    main()
