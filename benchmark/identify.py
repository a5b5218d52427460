"""Prints how well a hidden robot's numbers are identified, and what it carries, on truths that are not the model.

    ./with_ros2 python benchmark/identify.py [--first 1000] [--runs 20] [--walks] [--jobs 2]

Each run: MuJoCo with servos=real of a seed, everything about it hidden; a suspended exercise of a minute and a standing
one of two, recorded at the rates of the nodes; the mass of the empty robot is known from a scale. --walks: then it
walks with the identified numbers, empty for 15 s (tare) and with a weight that is put on anywhere within 60 mm for
20 s. About 20 s of CPU for each run, a minute with --walks. Progress goes to stderr, the table to stdout.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from support.identification_rig import record
from support.payload_walk import PayloadWalk

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification import identify, standing_exercise, suspended_exercise
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_vector
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.simulation.servo_law import LOOP_PERIOD

ROBOT = Robot.jethexa()
# [ms] from a command to the servos without the Truth's delay, and one period of the servo's loop, which samples its
# encoder and holds its torque.
CHAIN = 14.0 + 1e3 * LOOP_PERIOD
# Limits of the table, and the name of the finding.
WANTED = {"stiffness": 0.10, "latency": 4.0, "dead_zone": 0.15, "zero": 0.4, "mounting": 0.2, "mass": 0.10}


def truths_of(truth: Truth) -> dict[str, float]:
    """True values by the names of the findings."""
    real = truth.robot(ROBOT)
    zeros = np.degrees(truth.zeros(ROBOT.joint_count))
    values = {}
    for joint, name in enumerate(ROBOT.joint_names):
        values[f"{name}.stiffness"] = real.servo.stiffness
        values[f"{name}.latency"] = CHAIN + 1e3 * truth.delay
        values[f"{name}.dead_zone"] = truth.zone
        values[f"{name}.play"] = truth.hysteresis
        values[f"{name}.feed_forward"] = truth.ff
        values[f"{name}.zero"] = zeros[joint]
    for axis, value in zip(("roll", "pitch", "yaw"), rotation_vector(truth.imu_rotation()), strict=True):
        values[f"imu.mounting.{axis}"] = math.degrees(value)
    values["body.mass"] = real.body.mass
    values |= {f"{leg.name}.{link.name}.mass": link.mass for leg in real.legs for link in leg.links}
    return values


def identified(seed: int):
    """Identification of the truth of a seed, the Truth and its errors [(kind, error, deviation, whether seen)]."""
    truth = Truth.parse(f"servos=real,seed={seed},payload=0")
    weight = WholeBodyModel(truth.robot(ROBOT)).total_mass()
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--walks", action="store_true", help="walk with a weight, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.runs)
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        all_found = zip(seeds, pool.map(identified, seeds) if given.jobs > 1 else map(identified, seeds), strict=True)
        rows, walks = measure(all_found, given.walks)
    print_tables(rows, walks)


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
            walk = PayloadWalk(truth, known=result.robot, seed=seed)
            walk.run(15.0)
            walk.load = (mass, x, y)
            payload = walk.run(20.0)
            walks.append((mass, x, y, payload))
            print(f"  {mass:.3f} kg at {1e3 * x:.0f} {1e3 * y:.0f} mm: {payload}", file=sys.stderr, flush=True)
    return rows, walks


def print_tables(rows, walks) -> None:
    """Print the table of the findings and what was found of weights, if any."""
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
