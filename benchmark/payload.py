"""Prints what is found of a load that is put on while a hidden robot walks, and what the gait makes of it.

    ./with_ros2 python benchmark/payload.py weigh [--first 4000] [--runs 20] [--known catalogue|servos] [--sway 0.002]
                                              [--empty 12]
    ./with_ros2 python benchmark/payload.py bags [--first 4000] [--runs 40] [--sway 0.002]

MuJoCo, servos=real of the seed, without a payload at the start. weigh: 12 s or --empty empty (tared by itself), then
0 to 0.5 kg anywhere within 60 mm; the estimate 20 s later; --known servos: the software has the true stiffness, dead
zone, lag and kind of the servos, as a perfect identification would give them, else the catalogue's. bags: 0.5 kg within
60 mm is put on a walk that the damage detector watches, and whether it declares damage. --sway: the gait's
weighing_sway. A line for each run goes to stderr, the table to stdout.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import argparse
import dataclasses
import math
import sys

import numpy as np
import results
from support.walks import payload_walk, servo_walk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.onboard.simulation import CHAIN_DELAY
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.parts import JointServo
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.simulation.servo_law import LOOP_PERIOD

ROBOT = Robot.jethexa()
EMPTY, LOADED = 12.0, 20.0  # [s]


def known_servos(truth: Truth) -> Robot:
    """The catalogue's robot with the true laws of the servos, but for play and friction."""
    servo = truth.robot(ROBOT).servo
    damping = servo.damping + servo.stiffness * truth.lag
    law = JointServo(
        stiffness=servo.stiffness,
        dead_zone=math.radians(truth.zone),
        latency=CHAIN_DELAY + truth.delay + LOOP_PERIOD,
        lag=damping / servo.stiffness,
        feed_forward=truth.ff,
    )
    return dataclasses.replace(ROBOT, joint_servos=(law,) * ROBOT.joint_count)


def load_of(seed: int) -> tuple[float, float, float]:
    """Mass [kg], x, y [m] of the load of a seed."""
    random = np.random.default_rng((31, seed))
    angle, far, mass = random.uniform(0.0, 2.0 * math.pi), 0.06 * math.sqrt(random.random()), random.uniform(0.0, 0.5)
    return mass, far * math.cos(angle), far * math.sin(angle)


def weigh(given: argparse.Namespace) -> None:
    """Print how well loads are weighed."""
    rows = []
    for seed in range(given.first, given.first + given.runs):
        truth, load = Truth.parse(f"servos=real,seed={seed},payload=0"), load_of(seed)
        known = known_servos(truth) if given.known == "servos" else None
        walk = payload_walk(truth, seed, known=known, sway=given.sway)
        walk.run(given.empty)
        walk.load = load
        walk.run(LOADED)
        found = walk.payload
        rows.append((*load, found))
        mass, x, y = (1e3 * value for value in load)
        print(
            f"{seed}: {mass:.0f} g at {x:.0f} {y:.0f} mm; found {1e3 * found.mass:.0f} +- "
            f"{1e3 * found.mass_deviation:.0f} g at {1e3 * found.x:.0f} +- {1e3 * found.x_deviation:.0f}, "
            f"{1e3 * found.y:.0f} +- {1e3 * found.y_deviation:.0f} mm {found.reason}",
            file=sys.stderr,
            flush=True,
        )
    mass, x, y = np.array([row[:3] for row in rows]).T
    found = [row[3] for row in rows]
    errors = np.array([one.mass for one in found]) - mass
    honest = np.mean(np.abs(errors) < 2.0 * np.array([one.mass_deviation for one in found]))
    heavy = mass > 0.1
    off = np.array([(one.x - a, one.y - b) for one, a, b in zip(found, x, y, strict=True)])
    wide = np.array([(one.x_deviation, one.y_deviation) for one in found])
    moments = np.array([(one.mass * one.x, one.mass * one.y) for one in found]) - np.stack([mass * x, mass * y], axis=1)
    used = np.array([one.expected[1:] for one in found]) - np.stack([mass * x, mass * y], axis=1)
    print(f"| weighed, {given.known}, sway {given.sway}, {given.empty} s empty | {len(rows)} runs |\n|---|---|")
    results.record(
        given.json,
        f"weigh {given.known} {given.sway}",
        runs=len(rows),
        mass_right=np.sum(np.abs(errors) < 0.1 * mass + 0.02),
        rms_g=1e3 * np.sqrt(np.mean(errors**2)),
        centre_right=np.sum(np.hypot(*off[heavy].T) < 0.008),
        heavy=heavy.sum(),
    )
    print(f"| mass within 10 % + 20 g | {np.sum(np.abs(errors) < 0.1 * mass + 0.02)} |")
    print(f"| mass, rms error [g] | {1e3 * np.sqrt(np.mean(errors**2)):.0f} |")
    print(f"| mass within two of its deviations | {100 * honest:.0f} % |")
    print(f"| over 100 g: centre within 8 mm | {np.sum(np.hypot(*off[heavy].T) < 0.008)} of {heavy.sum()} |")
    print(f"| over 100 g: error of the centre, median [mm] | {1e3 * np.median(np.hypot(*off[heavy].T)):.0f} |")
    within = 100 * np.mean((np.abs(off) < 2.0 * wide)[heavy])
    print(f"| over 100 g: x, y within two of their deviations | {within:.0f} % |")
    sizes = [1e3 * np.sqrt(np.mean(one**2)) for one in (moments, used, np.stack([mass * x, mass * y]))]
    print(
        "| first moments, rms [g m]: error of the estimate, of what is reckoned with, of reckoning with none | ", end=""
    )
    print(", ".join(f"{size:.1f}" for size in sizes) + " |")
    print(f"| cannot tell | {sum(bool(one.reason) for one in found)} |")


def bags(given: argparse.Namespace) -> None:
    """Print what the damage detector declares when a bag is put on."""
    alarms = 0
    for seed in range(given.first, given.first + given.runs):
        blind, random = servo_walk(seed, "real", gait=AdaptiveGait(weighing_sway=given.sway))
        blind.run(17.0)
        early = len(blind.decisions)
        _, x, y = load_of(seed)
        far = 0.06 / math.hypot(x, y) * math.sqrt(random.random())
        blind.load = 0.5, x * far, y * far
        blind.run(12.0)
        declared = [one.text for one in blind.decisions[early:]]
        alarms += bool(declared)
        print(f"{seed}: {declared or 'nothing'}", file=sys.stderr, flush=True)
    results.record(given.json, "bags", alarms=alarms, runs=given.runs)
    print(f"| a bag of 0.5 kg put on: declared as damage | {alarms} of {given.runs} |")


def main() -> None:
    """Print the table that is asked for."""
    parser = results.parser(__doc__)
    parser.add_argument("what", choices=("weigh", "bags"))
    parser.add_argument("--first", type=int, default=4000, help="first seed")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--known", choices=("catalogue", "servos"), default="catalogue")
    parser.add_argument("--sway", type=float, default=0.0, help="weigh, bags: sway of the body [m]")
    parser.add_argument("--empty", type=float, default=EMPTY, help="weigh: time without a load [s]")
    given = parser.parse_args()
    {"weigh": weigh, "bags": bags}[given.what](given)


if __name__ == "__main__":
    main()
