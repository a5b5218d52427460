"""Prints what the damage detector finds on robots whose servos are not springs, in closed loop.

    ./with_ros2 python benchmark/real_servos.py [--runs 60] [--first 0] [--servos real] [--cases foot,pair,healthy]
        [--minutes 180] [--physics mujoco] [--truth lag=0.03] [--gait auto] [--robot config/octopod.yaml]
        [--reads 150] [--log FILE] [--json FILE]

Each run: MuJoCo (or --physics built_in), `Truth.parse("servos=real,seed=N")` on ground flat, 4 or 8 mm rough; the
robot's whole program (`Onboard`); a walk of 6 to 7.3 s in which nothing is broken, then damage. Healthy robots walk 2.5
minutes each, and get three hard pushes in the case `pushed`. --truth: values of the Truth instead of the drawn ones.
--reads: of joints a second, that the servo bus has time for.
--log: a file to which each run is written as a line of JSON; what it has already is not run again, so that a long
measurement can be interrupted. --json: the file of docs/results/ that gets the numbers. Progress goes to stderr, the
table to stdout.
"""

import argparse
import itertools
import json
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results
from support.walks import disturb_walk, servo_walk

from hexapod_dynamics.onboard.servos import READS_A_SECOND
from hexapod_dynamics.onboard.simulation import PHYSICS
from hexapod_dynamics.robot import Morphology, Robot

CYCLE, WARM_UP, MEASURED = 1.3, 6.0, 2.6  # [s]
UNEVEN = ("steps:0.03", "steps:0.04", "steps:0.05", "blocks:0.03", "blocks:0.04")
# Case: what happens, limit [s], what is wanted within it.
CASES = {
    "foot": ("tibia lost, 2 or 50 % left, servos answer", 2.0, "99 %"),
    "15": ("last 15 % of a tibia lost, servos answer", 2.0, "95 %"),
    "pair": ("two tibias lost at once, servos answer", 3.0, "95 %, 85 % at once"),
    "torn": ("one leg torn off", 0.6, "98 %"),
    "torn2": ("two legs torn off at once", 0.9, "98 %"),
    "torn3": ("three legs torn off at once", 1.5, "98 %"),
    "limp": ("joint limp", 1.95, "98 %"),
    "locked": ("joint locked", 1.95, "98 %"),
    "limp_lost": ("joint limp, one or two legs missing already", 1.95, "98 %"),
    "locked_lost": ("joint locked, one or two legs missing already", 1.95, "98 %"),
    "healthy": ("healthy: pushes, commands, a bag", 0.0, "0 in 3 hours"),
    "uneven": ("healthy on steps of 30 to 50 mm and blocks", 0.0, "at most 1 in 3 hours"),
    "slope": ("healthy on slopes to 15 degrees, told losses", 0.0, "at most 1 in 3 hours"),
    "pushed": ("healthy: pushed hard, 4 to 10 N s in 0.1 to 0.6 s", 0.0, "at most 2 in 120"),
}
FALSE = ("healthy", "uneven", "slope", "pushed")  # cases in which nothing breaks
WALK = 150.0  # [s] of a walk of these
PUSHES = 3  # of a walk of the case "pushed"


def push_walk(walk, random):
    """Push a walk hard from random sides: 4 to 10 N s in 0.1 to 0.6 s, 0 to 60 mm above the body's origin."""
    for _ in range(PUSHES):
        angle, lasts = random.uniform(-np.pi, np.pi), (0.1, 0.2, 0.3, 0.6)[random.integers(4)]
        walk.push(lasts, random.uniform(4.0, 10.0) / lasts, angle, random.uniform(0.0, 0.06))
        walk.run(4.5)
    walk.run(5.0)  # in which a foot that was declared lost is taken back


def damaged(case, index, random, blind, before):
    """The broken Morphology of run `index` of a case."""
    legs, count = blind.robot.legs, len(blind.robot.legs)
    feet = [f"{leg.name}.{leg.link_names[-1]}" for leg in legs]
    if case == "foot":
        return before.broken(feet[index % count], (0.02, 0.5)[index // count % 2])
    if case == "15":
        return before.broken(feet[index % count], 0.85)
    if case == "pair":
        one, other = legs_of(blind.robot, index, 2)
        return before.broken(feet[one], 0.05).broken(feet[other], 0.05)
    if case.startswith("torn"):
        return before.without(*(legs[k].name for k in legs_of(blind.robot, index, int(case[4:] or 1))))
    parts = [f"{leg.name}.{link}" for leg in legs for link in leg.link_names]
    there = [k for k, part in enumerate(parts) if before.has_leg(part.partition(".")[0])]
    k = there[index * 5 % len(there)]
    if case.startswith("limp"):
        return before.limp(parts[k])
    return before.locked(parts[k], float(blind.physics.q[k]))


def legs_of(robot, index, count):
    """Return the legs (indices) of run `index`, of all sets of so many legs."""
    sets = list(itertools.combinations(range(len(robot.legs)), count))
    return sets[index * (7 if count > 2 else 1) % len(sets)]


def lost(morphology):
    """Legs that can carry nothing."""
    found = set()
    for leg in morphology.robot.legs:
        for link in leg.links:
            part = leg.name, link.name
            broken = morphology.remaining(*part) < 1 or morphology.locked_angle(*part) is not None
            if broken or morphology.is_limp(*part):
                found.add(leg.name)
    return found


def begin(case, index, seed, options):
    """Return a walk with what is told before it, the Morphology told, and the walk's random stream."""
    servos = ",".join(filter(None, (options.servos, options.truth)))
    if case == "uneven":
        servos += f",ground={UNEVEN[index % len(UNEVEN)]}"
    setup = {"physics": options.physics, "gait": options.gait, "robot": options.robot, "reads": options.reads}
    blind, random = servo_walk(seed, servos, **setup)
    before = Morphology.whole(blind.robot)
    if case.endswith("_lost") or case == "slope":
        gone = legs_of(blind.robot, index, 2)[: 1 + index // 2 % 2]
        before = before.without(*(blind.robot.leg_names[k] for k in gone))
        blind.break_parts(before)
        blind.onboard.declare(before)
    return blind, before, random


def run_healthy(case, index, seed, options):
    """One walk in which nothing breaks: alarms or nothing, their number, time of the first or of the end [s], whether
    nothing is declared at the end.
    """
    if case == "slope" and "slope=" not in options.truth:
        angle, side = np.random.default_rng((9, seed)).uniform((0.0, -180.0), (15.0, 180.0))
        truth = ",".join(filter(None, (options.truth, f"slope={angle:.2f},slope_yaw={side:.0f}")))
        options = argparse.Namespace(**vars(options) | {"truth": truth})
    blind, before, random = begin(case, index, seed, options)
    blind.run(WARM_UP)
    if case == "pushed":
        push_walk(blind, random)
    elif case == "uneven":
        blind.run(min(WALK, options.minutes * 60.0) - WARM_UP)
    else:
        disturb_walk(blind, random, min(WALK, options.minutes * 60.0) - WARM_UP)
    for one in blind.decisions:
        print(f"  {case} {options.physics} {seed}: {one.time:.1f} s: {one.text}", file=sys.stderr)
    ended = blind.decisions[0].time if blind.decisions else blind.time
    alarms = sum(one.action == "declare" for one in blind.decisions)
    return "alarm" if alarms else "nothing", alarms, ended, lost(blind.declared) == lost(before)


def run_damaged(case, index, seed, options):
    """One walk with damage: outcome, time it took [s], speed from 4 s after it was found as a share of that before it,
    over two or three cycles each, whether all was declared at once.
    """
    blind, before, random = begin(case, index, seed, options)
    blind.run(WARM_UP + random.uniform(0.0, CYCLE) - MEASURED)
    usual = speed(blind)
    early = len(blind.decisions)
    truth = damaged(case, index, random, blind, before)
    start, wanted = blind.time, lost(truth)
    blind.break_parts(truth)
    right = blind.run(CASES[case][1], until=lambda blind: lost(blind.declared) == wanted)
    late = not right and blind.run(4.0, until=lambda blind: lost(blind.declared) == wanted)
    took = blind.time - start
    times = {round(one.time, 3) for one in blind.decisions[early:]}
    blind.run(4.0)
    share = speed(blind) / max(usual, 1e-3)
    what = "alarm" if early else "in time" if right else "late" if late else "missed"
    if not early and not lost(blind.declared) <= wanted:
        what = "wrong"
    if what not in ("in time", "late"):
        told = "; ".join(f"{one.time - start:.2f} s: {one.text}" for one in blind.decisions)
        print(f"  {case} {options.physics} {seed}: {truth.describe()}: {what}: {told}", file=sys.stderr)
    return what, took, share, len(times) == 1


def speed(blind):
    """Walk on for whole cycles of the present gait, MEASURED or longer; return the speed [m/s] of this time.

    Bodies sway with the cycle: over a part of one, two seconds of rowing look like 0.85 or 1.5 of their speed.
    """
    before, period = np.array(blind.physics.position[:2]), blind.gait.period
    seconds = math.ceil(MEASURED / period - 1e-6) * period
    blind.run(seconds)
    return float(np.linalg.norm(np.array(blind.physics.position[:2]) - before)) / seconds


def measure(case, options):
    """Return the outcomes of the runs of a case."""
    known, found = read_log(options.log), []
    count = options.runs if case == "pushed" or case not in FALSE else max(1, round(60.0 * options.minutes / WALK))
    began = time.monotonic()
    for index in range(count):
        seed = 1000 * list(CASES).index(case) + options.first + index
        setup = f"{options.servos} {options.truth} {options.gait} {options.reads:g}"
        key = f"{case} {options.robot.name} {options.physics} {setup} {seed}"
        if key not in known:
            known[key] = (run_healthy if case in FALSE else run_damaged)(case, index, seed, options)
            if options.log is not None:
                with options.log.open("a") as file:
                    file.write(json.dumps([key, known[key]]) + "\n")
        found.append(known[key])
        print(f"\r{case} {index + 1} of {count}, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def read_log(file):
    """Return the runs that a file of --log has, by their keys."""
    if file is None or not file.is_file():
        return {}
    return {key: tuple(values) for key, values in map(json.loads, file.read_text().splitlines())}


def numbers(case, runs):
    """Return the numbers of a case for the file of --json."""
    if case in FALSE:
        alarms = sum(one[1] for one in runs)
        if case == "pushed":
            healed = sum(one[0] == "alarm" and one[3] for one in runs)
            return {"alarms": alarms, "healed": healed, "pushes": PUSHES * len(runs)}
        return {"alarms": alarms, "minutes": round(sum(one[2] for one in runs) / 60.0)}
    whats = [one[0] for one in runs]
    took = [one[1] for one in runs if one[0] in ("in time", "late")] or [np.nan]
    found, late, wrong = (whats.count(what) for what in ("in time", "late", "wrong"))
    return {
        "in_time": found,
        "late": late,
        "wrong": wrong,
        "runs": len(runs),
        "median": round(float(np.median(took)), 2),
        "at_once": sum(one[3] and one[0] in ("in time", "late") for one in runs),
        "fast": sum(one[2] >= 0.9 for one in runs),
    }


def text_of(case, of):
    """The text of a cell of the table."""
    if case == "pushed":
        return f"{of['alarms']} alarms in {of['pushes']} pushes, {of['healed']} walks healed"
    if case in FALSE:
        return f"{of['alarms']} alarms in {of['minutes']} min"
    found = f"{of['in_time']} (+{of['late']}) of {of['runs']}; {of['wrong']} wrong; {of['median']:.2f} s"
    return f"{found}; {of['at_once']} at once; {of['fast']} at >= 90 % of their speed"


def main():
    """Run the cases asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="seed of the first walk")
    parser.add_argument("--servos", default="real", help="real, half, or model for springs")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--minutes", type=float, default=180.0, help="of each case in which nothing breaks")
    parser.add_argument("--truth", default="", help="values of the Truth instead of the drawn ones, as lag=0.03")
    parser.add_argument("--gait", default="auto")
    parser.add_argument("--reads", type=float, default=READS_A_SECOND)
    parser.add_argument("--robot", type=Robot.load, default=Robot.jethexa(), help="its YAML file")
    parser.add_argument("--physics", default="mujoco", choices=sorted(PHYSICS))
    parser.add_argument("--log", type=Path)
    results.add_option(parser)
    options = parser.parse_args()
    if options.physics == "built_in" and "uneven" in options.cases.split(","):
        parser.error("the case uneven needs --physics mujoco: the built-in physics has no steps and blocks")
    print(f"| case | wanted | {options.physics} |\n|---|---|---|", flush=True)
    for case in options.cases.split(","):
        of = numbers(case, measure(case, options))
        robot = "" if options.robot.name == Robot.jethexa().name else options.robot.name
        gait = "" if options.gait == "auto" else options.gait
        reads = "" if options.reads == READS_A_SECOND else f"{options.reads:g} reads"
        name = " ".join(filter(None, (case, options.truth, gait, robot, reads)))
        results.record(options.json, name, **{options.physics: of})
        what, limit, wanted = CASES[case]
        print(f"| {what} | {wanted}{f' within {limit:g} s' if limit else ''} | {text_of(case, of)} |", flush=True)


if __name__ == "__main__":
    main()
