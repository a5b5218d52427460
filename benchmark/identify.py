"""Prints how well a hidden robot's numbers are identified, and what it carries, on truths that are not the model.

    ./with_ros2 python benchmark/identify.py [--first 2000] [--runs 20] [--assumed] [--walks] [--jobs 2] [--json FILE]

Each run: MuJoCo with servos=real of a seed, everything about it hidden; a suspended exercise of a minute and a standing
one of two, recorded at the rates of the nodes; the mass of the empty robot is known from a scale. --assumed: truths
that vary, too, what the standard deviations contain and servos=real does not: centres and masses of the links, the
stiffness of one servo against the others, the tilt of the floor and the error of the scale, by the standard deviations
that the identification assumes before it has seen anything. --walks: then it walks with the identified numbers, empty
for 15 s (tare) and with a weight that is put on anywhere within 60 mm for 20 s. About 20 s of CPU for each run, a
minute with --walks. Progress goes to stderr, the table to stdout.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import dataclasses
import functools
import math
import sys

import numpy as np
import results
from support.identification_rig import LATENCY, record
from support.walks import payload_walk

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification import identify, masses, standing_exercise, suspended_exercise
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_vector
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.worker_processes import WorkerProcesses

ROBOT = Robot.jethexa()
# Limits of the table, and the name of the finding.
WANTED = {"stiffness": 0.10, "latency": 4.0, "dead_zone": 0.15, "zero": 0.4, "mounting": 0.2, "mass": 0.10}


def truths_of(truth: Truth) -> dict[str, float]:
    """True values by the names of the findings."""
    real = truth.robot(ROBOT)
    zeros = np.degrees(truth.zeros(ROBOT.joint_count))
    stiffness = real.servo.stiffness * truth.stiffness_factors(ROBOT.joint_count)
    values = {}
    for joint, name in enumerate(ROBOT.joint_names):
        values[f"{name}.stiffness"] = stiffness[joint]
        values[f"{name}.latency"] = 1e3 * (LATENCY + truth.delay)
        values[f"{name}.dead_zone"] = truth.zone
        values[f"{name}.play"] = truth.hysteresis
        values[f"{name}.feed_forward"] = truth.ff
        values[f"{name}.zero"] = zeros[joint]
    for axis, value in zip(("roll", "pitch", "yaw"), rotation_vector(truth.imu_rotation()), strict=True):
        values[f"imu.mounting.{axis}"] = math.degrees(value)
    values["body.mass"] = real.body.mass
    values |= {f"{leg.name}.{link.name}.mass": link.mass for leg in real.legs for link in leg.links}
    return values


def assumed(truth: Truth) -> tuple[Truth, float]:
    """A truth with what the identification assumes before it has seen anything, and the factor of the scale's error."""
    random = np.random.default_rng((32, truth.seed))
    tilt = math.degrees(0.009) * random.normal(size=2)  # as in geometry.py; below as in masses.py
    truth = dataclasses.replace(
        truth,
        servo_spread=0.08,
        link_masses=math.sqrt(3.0) * 2.0 * masses.WIDTHS[0],  # relative standard deviation; a Truth draws them evenly
        link_centres=masses.WIDTHS[-1],
        slope=float(np.hypot(*tilt)),
        slope_yaw=math.degrees(math.atan2(*tilt)),
    )
    return truth, 1.0 + 0.005 * random.normal()


def identified(seed: int, as_assumed: bool = False):
    """Identification of the truth of a seed, the Truth and its errors [(kind, error, deviation, whether seen)]."""
    truth, scale = Truth.parse(f"servos=real,seed={seed},payload=0"), 1.0
    if as_assumed:
        truth, scale = assumed(truth)
    weight = scale * WholeBodyModel(truth.robot(ROBOT)).total_mass()
    hanging = record(ROBOT, truth, suspended_exercise(ROBOT), suspended=True, seed=seed)
    standing = record(ROBOT, truth, standing_exercise(ROBOT), suspended=False, seed=seed)
    result, rows = identify(ROBOT, hanging, standing, weighed=weight), []
    values = truths_of(truth)
    for finding in result.findings:
        if finding.name in values:
            true = values[finding.name]
            scale = true if finding.name.endswith(("stiffness", "mass")) else 1.0
            kind = next((kind for kind in WANTED if kind in finding.name), finding.name.rsplit(".", 1)[-1])
            error, deviation = (finding.value - true) / scale, finding.deviation / scale
            rows.append((kind, error, deviation, not finding.missing))
    return result, truth, rows


def main() -> None:
    """Print the table."""
    parser = results.parser(__doc__)
    parser.add_argument("--first", type=int, default=2000, help="first seed")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--assumed", action="store_true", help="vary all that the deviations contain")
    parser.add_argument("--walks", action="store_true", help="walk with a weight, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.runs)
    with WorkerProcesses(given.jobs) as pool:
        one = functools.partial(identified, as_assumed=given.assumed)
        all_found = zip(seeds, pool.map(one, seeds) if given.jobs > 1 else map(one, seeds), strict=True)
        rows, walks = measure(all_found, given.walks)
    print_tables(rows, walks, given.json)


def measure(all_found, with_weight: bool):
    """Rows of all runs, and with a weight what was found of it; a line for each run goes to stderr."""
    rows, walks = [], []
    for seed, (result, truth, found) in all_found:
        rows += found
        print(f"seed {seed}: {truth.describe()}", file=sys.stderr, flush=True)
        if with_weight:
            random = np.random.default_rng((31, seed))
            angle, far, mass = random.uniform(0, 2 * math.pi), 0.06 * math.sqrt(random.random()), random.uniform(0, 0.5)
            x, y = far * math.cos(angle), far * math.sin(angle)
            walk = payload_walk(truth, seed, known=result.robot)
            walk.run(15.0)
            walk.load = (mass, x, y)
            walk.run(20.0)
            walks.append((mass, x, y, walk.payload))
            print(f"  {mass:.3f} kg at {1e3 * x:.0f} {1e3 * y:.0f} mm: {walk.payload}", file=sys.stderr, flush=True)
    return rows, walks


def print_tables(rows, walks, file=None) -> None:
    """Print, and write into a file of results, the table of the findings and what was found of weights, if any."""
    print("| of those seen | number | median error | 90 % below | within the limit | within 2 of its deviations |")
    print("|---|---|---|---|---|---|")
    for kind in dict.fromkeys(row[0] for row in rows):
        those = np.array([(error, deviation) for k, error, deviation, seen in rows if k == kind and seen])
        if not len(those):
            print(f"| {kind} | 0 | | | | |")
            continue
        errors, share = np.abs(those[:, 0]), np.mean(np.abs(those[:, 0]) < 2.0 * those[:, 1])
        inside = f"{100 * np.mean(errors < WANTED[kind]):.0f} % < {WANTED[kind]}" if kind in WANTED else ""
        print(
            f"| {kind} | {len(those)} | {np.median(errors):.3f} | {np.quantile(errors, 0.9):.3f} | {inside} | "
            f"{100 * share:.0f} % |"
        )
        results.record(file, kind, median=np.median(errors), ninety=np.quantile(errors, 0.9), honest=share)
    if walks:
        errors = np.array([(p.mass - m, m, np.hypot(p.x - x, p.y - y)) for m, x, y, p in walks])
        good = np.abs(errors[:, 0]) < 0.1 * errors[:, 1] + 0.02
        heavy = errors[:, 1] > 0.1
        honest = np.mean([abs(p.mass - m) < 2.0 * p.mass_deviation for m, _, _, p in walks])
        print(
            f"payload: mass within 10 % + 20 g in {good.sum()} of {len(walks)}; "
            f"within two deviations {100 * honest:.0f} %"
        )
        print(f"payload over 0.1 kg: centre within 8 mm in {(errors[heavy, 2] < 0.008).sum()} of {heavy.sum()}, ")
        print(f"median {1e3 * np.median(errors[heavy, 2]):.0f} mm")


if __name__ == "__main__":
    main()
