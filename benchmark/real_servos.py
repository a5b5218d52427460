"""Prints what the damage detector finds on robots whose servos are not springs, beside the limits it had before.

    ./with_ros2 python benchmark/real_servos.py [--runs 20] [--first 0] [--servos real,half] [--cases foot,pair,healthy]
        [--minutes 20] [--detectors new,old] [--physics mujoco] [--truth lag=0.03] [--sweep lag=0,0.02,0.04] [--closed]
        [--walks FILE] [--log FILE] [--json FILE]

Each run: MuJoCo (or --physics built_in), `Truth.parse("servos=real,seed=N")` on ground flat, 4 or 8 mm rough; the
package's classes wired with the rates of the nodes; a walk of 17 to 18.3 s, in which nothing is broken, then damage.
Each walk is recorded once and replayed to every detector, up to its first declaration (nobody obeys before it).
--closed: what is declared is obeyed and suspected feet are pressed, also of healthy robots. --walks: the file in which
the recorded walks are kept for other detectors. --log: a file to which each run is written as a line of JSON; what it
has already is not run again, so that a long measurement can be interrupted. --json: the file of docs/results/ that gets
the numbers of the first detector. --sweep: instead of the cases, feet found in time and false alarms over the
values of one quantity of the servos. Progress goes to stderr, the table to stdout.

Detectors: `new`; `old`; with --closed only: `learned`, a LearnedDetector; `identified`: the new one and the gait have
the robot that `identify` finds of the same truth, without its payload, and its plans (40 s more a walk).
"""

import argparse
import itertools
import json
import math
import os
import pickle
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results
from support.identification_rig import identified_with_plans
from support.recorded_walk import Recorder, replay
from support.sensed_walk import PHYSICS
from support.servo_walk import PUSHES, disturb_walk, push_walk, servo_walk

from hexapod_dynamics.detection import DamageDetector, DetectorSettings
from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.learning.detector import LearnedDetector
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LEGS = ROBOT.leg_names
PARTS = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]
PAIRS = list(itertools.combinations(LEGS, 2))
TRIPLES = list(itertools.combinations(LEGS, 3))
CYCLE, WARM_UP, MEASURED = 1.3, 17.0, 2.6  # [s]
# Case: what happens, limit [s], share of the runs that is wanted within it.
CASES = {
    "foot": ("tibia lost, 2 or 50 % left, servos answer", 2.0, "95 %"),
    "15": ("last 15 % of a tibia lost, servos answer", 2.0, "80 %, the rest cannot tell"),
    "pair": ("two tibias lost at once, servos answer", 3.0, "90 %"),
    "torn": ("one leg torn off", 0.6, "97 %"),
    "torn2": ("two legs torn off at once", 0.9, "97 %"),
    "torn3": ("three legs torn off at once", 1.5, "97 %"),
    "limp": ("joint limp", 1.95, "97 %"),
    "locked": ("joint locked", 1.95, "97 %"),
    "healthy": ("healthy: pushes, commands, a bag", 0.0, "0 alarms in 3 hours"),
    "pushed": ("healthy: pushed hard, 4 to 10 N s in 0.1 to 0.6 s", 0.0, "0 alarms"),
}
# [s] after the first declaration in which the others of the same moment may follow: the bus needs no simulation.
MORE = {"torn2": 0.6, "torn3": 1.0}
DETECTORS = {"new": DetectorSettings(), "old": DetectorSettings(limits=DetectorLimits.absolute())}
IDENTIFIED, LEARNED = "identified", "learned"


def damaged(case, index, random, blind):
    """The broken Morphology of run `index` of a case."""
    if case == "foot":
        return WHOLE.broken(f"{LEGS[index % 6]}.tibia", (0.02, 0.5)[index // 6 % 2])
    if case == "15":
        return WHOLE.broken(f"{LEGS[index % 6]}.tibia", 0.85)
    if case == "pair":
        one, other = PAIRS[index % 15]
        return WHOLE.broken(f"{one}.tibia", 0.05).broken(f"{other}.tibia", 0.05)
    if case == "torn":
        return WHOLE.without(LEGS[index % 6])
    if case == "torn2":
        return WHOLE.without(*PAIRS[index % 15])
    if case == "torn3":
        return WHOLE.without(*TRIPLES[index * 7 % 20])
    part = PARTS[index * 5 % 18]
    if case == "limp":
        return WHOLE.limp(part)
    return WHOLE.locked(part, float(blind.physics.q[index * 5 % 18]))


def record(case, index, seed, servos, physics, seconds):
    """One walk: the calls, when the damage happens [s], the broken Morphology."""
    recorder = Recorder()
    blind, random = servo_walk(seed, servos, recorder, physics=PHYSICS[physics])
    if case == "healthy":
        blind.run(WARM_UP)
        disturb_walk(blind, random, seconds)
        return recorder.calls, blind.time, WHOLE
    if case == "pushed":
        blind.run(WARM_UP)
        push_walk(blind, random)
        return recorder.calls, blind.time, WHOLE
    blind.run(WARM_UP + random.uniform(0.0, CYCLE))
    truth = damaged(case, index, random, blind)
    begin = blind.time
    blind.damage(truth)
    blind.run(CASES[case][1] + 1.5)
    return recorder.calls, begin, truth


def lost(morphology):
    """Legs that can carry nothing."""
    found = set()
    for leg in ROBOT.legs:
        for link in leg.links:
            part = leg.name, link.name
            if (
                morphology.remaining(*part) < 1
                or morphology.locked_angle(*part) is not None
                or morphology.is_limp(*part)
            ):
                found.add(leg.name)
    return found


def outcome(case, decisions, begin, truth, detector):
    """How the run ended, and the time it took [s]: in time, late, part (a right leg, others to follow), wrong, alarm,
    cannot tell (of a right leg, within the limit), nothing.
    """
    if not decisions:
        limit = begin + CASES[case][1]
        told = {leg for at, leg in detector.could_not_tell + detector.asked if begin <= at <= limit}
        return ("cannot tell" if told & lost(truth) else "nothing"), np.nan
    at = decisions[-1][0]
    if decisions[0][0] < begin:
        return "alarm", np.nan
    declared = WHOLE
    for _, one in decisions:
        declared = declared.updated(one.values)
    found, wanted = lost(declared), lost(truth)
    if not found <= wanted:
        return "wrong", at - begin
    if found != wanted:
        return "part", at - begin
    return ("in time" if at - begin <= CASES[case][1] else "late"), at - begin


def detector_of(name, robot):
    """The detector of a name, for a closed loop."""
    return LearnedDetector(robot) if name == LEARNED else DamageDetector(robot, DETECTORS.get(name))


def run_healthy(seed, servos, physics, name, seconds):
    """One walk in which nothing breaks and suspected feet are pressed: alarm or nothing, not a number, banks, presses,
    time of the alarm or of the end [s].
    """
    known = identified_with_plans if name == IDENTIFIED else None
    blind, random = servo_walk(seed, servos, obey=True, known=known, physics=PHYSICS[physics])
    blind.detector = detector_of(name, blind.robot)
    blind.run(WARM_UP)
    disturb_walk(blind, random, seconds)
    decisions = blind.decisions
    for at, one in decisions:
        print(f"  {name} {servos} {physics} {seed}: {at:.1f} s: {one.text}", file=sys.stderr)
    ended = decisions[0][0] if decisions else blind.time
    return "alarm" if decisions else "nothing", np.nan, blind.detector.banks, len(blind.pressed), ended


def run_closed(case, index, seed, servos, physics, name):
    """One walk in which what is declared is obeyed: outcome, time it took [s], speed that it has from 4 s after it was
    found as a share of its speed on all legs, over two or three cycles each.
    """
    known = identified_with_plans if name == IDENTIFIED else None
    blind, random = servo_walk(seed, servos, obey=True, known=known, physics=PHYSICS[physics])
    blind.detector = detector_of(name, blind.robot)
    blind.run(WARM_UP + random.uniform(0.0, CYCLE) - MEASURED)
    whole = speed(blind)
    early = len(blind.decisions)
    truth = damaged(case, index, random, blind)
    begin, wanted = blind.time, lost(truth)
    blind.damage(truth)
    blind.run(CASES[case][1], until=lambda blind: lost(blind.declared) == wanted)
    right = lost(blind.declared) == wanted
    late = not right and blind.run(4.0, until=lambda blind: lost(blind.declared) == wanted)
    took = blind.time - begin
    blind.run(4.0)
    share = speed(blind) / max(whole, 1e-3)
    what = "alarm" if early else "in time" if right else "late" if late else "missed"
    if not early and not lost(blind.declared) <= wanted:
        what = "wrong"
    return what, took, share


def speed(blind):
    """Walk on for whole cycles of the present gait, MEASURED or longer; return the speed [m/s] of this time.

    Bodies sway with the cycle: over a part of one, two seconds of rowing look like 0.85 or 1.5 of their speed.
    """
    before, period = np.array(blind.physics.position[:2]), blind.gait.period
    seconds = math.ceil(MEASURED / period - 1e-6) * period
    blind.run(seconds)
    return float(np.linalg.norm(np.array(blind.physics.position[:2]) - before)) / seconds


def main():
    """Record and replay the cases asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first walk")
    parser.add_argument("--servos", default="real", help="real, half, model, with commas")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument(
        "--detectors",
        default=",".join(DETECTORS),
        help=f"of {', '.join([*DETECTORS, LEARNED, IDENTIFIED])}, with commas",
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="of the case healthy, in all; walks of 2.5 minutes")
    parser.add_argument("--truth", default="", help="values of the Truth instead of the drawn ones, as lag=0.03")
    parser.add_argument("--sweep", default="", help="a value of the Truth, as hysteresis=0,0.5,1: hits, false alarms")
    parser.add_argument("--physics", default="mujoco", choices=sorted(PHYSICS))
    parser.add_argument("--closed", action="store_true")
    parser.add_argument("--walks", type=Path)
    parser.add_argument("--log", type=Path)
    results.add_option(parser)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.closed and "pushed" in options.cases.split(","):
        parser.error("pushed is replayed, not obeyed: leave out --closed, or take it from --cases")
    if {IDENTIFIED, LEARNED} & set(options.detectors.split(",")) and not options.closed:
        parser.error("--detectors identified and learned need --closed")
    kept = pickle.loads(options.walks.read_bytes()) if options.walks and options.walks.exists() else {}
    (make_curve if options.sweep else make_table)(options, kept)


def make_table(options, kept):
    """Measure the cases asked for, and print a table."""
    names = options.detectors.split(",")
    header = "| servos | case | wanted | " + " | ".join(
        f"{name}: in time (late) of runs; wrong, alarms; median" for name in names
    )
    print(f"{header} |\n|---|---|---|{'---|' * len(names)}", flush=True)
    for servos, case in itertools.product(options.servos.split(","), options.cases.split(",")):
        servos = ",".join(filter(None, (servos, options.truth)))
        cells = measure(servos, case, options, kept)
        name = " ".join(filter(None, (case, options.truth)))
        results.record(options.json, name, **{options.physics: numbers(case, cells[0])})
        what, limit, wanted = CASES[case]
        wanted = f"{wanted} within {limit:g} s" if limit else wanted
        print(f"| {servos} | {what} | {wanted} | {' | '.join(row(case, one, options) for one in cells)} |", flush=True)


def make_curve(options, kept):
    """Measure hits and false alarms over the values of --sweep, and print a table."""
    name, _, values = options.sweep.partition("=")
    names = options.detectors.split(",")
    print(f"| {name} | " + " | ".join(f"{one}: feet in time; alarms, banks an hour" for one in names) + " |")
    print(f"|---|{'---|' * len(names)}", flush=True)
    for value in values.split(","):
        servos = ",".join(filter(None, (options.servos, options.truth, f"{name}={value}")))
        feet, healthy = (measure(servos, case, options, kept) for case in ("foot", "healthy"))
        cells = []
        for found, quiet in zip(feet, healthy, strict=True):
            hits = sum(one[0] == "in time" for one in found)
            early = sum(one[0] in ("alarm", "wrong") for one in found)
            minutes = sum(one[4] for one in quiet) / 60.0
            alarms = sum(one[0] == "alarm" for one in quiet)
            banks = 60.0 * sum(one[2] for one in quiet) / minutes
            wrong = f", {early} wrong" if early else ""
            cells.append(f"{hits} of {len(found)}{wrong}; {alarms} in {minutes:.0f} min, {banks:.0f}")
        print(f"| {value} | {' | '.join(cells)} |", flush=True)


def measure(servos, case, options, kept):
    """Record, or take from `kept`, the walks of a case and replay them; return the outcomes for each detector."""
    names, physics = options.detectors.split(","), options.physics
    of = case if physics == "mujoco" else f"{case} {physics}"
    cells, known = [[] for _ in names], read_log(options.log)
    count = max(1, round(options.minutes / 2.5)) if case == "healthy" else options.runs
    began = time.monotonic()
    for index in range(count):
        seed = 1000 * list(CASES).index(case) + options.first + index
        if options.closed:
            for name, cell in zip(names, cells, strict=True):
                key = f"{name} {servos} {of} {seed}"
                if key not in known:
                    if case == "healthy":
                        known[key] = run_healthy(seed, servos, physics, name, 60.0 * options.minutes / count)
                    else:
                        known[key] = run_closed(case, index, seed, servos, physics, name)
                    write_log(options, key, known[key])
                cell.append(known[key])
            print(f"\r{of} {index + 1} of {count}, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr)
            continue
        keys = [f"{name} {servos} {of} {seed} replayed" for name in names]
        if all(one in known for one in keys):
            for one, cell in zip(keys, cells, strict=True):
                cell.append(known[one])
            continue
        key = servos, of, seed
        if key not in kept:
            kept[key] = record(case, index, seed, servos, physics, 60.0 * options.minutes / count)
        calls, begin, truth = kept[key]
        for name, cell in zip(names, cells, strict=True):
            decisions, detector = replay(ROBOT, calls, DETECTORS[name], MORE.get(case, 0.0))
            what, took = outcome(case, decisions, begin, truth, detector)
            ended = decisions[0][0] if decisions else begin
            cell.append((what, took, detector.banks, len(detector.asked), ended))
            write_log(options, f"{name} {servos} {of} {seed} replayed", cell[-1])
            if options.verbose or what in ("wrong", "alarm"):
                told = "; ".join(one.text for _, one in decisions)
                print(
                    f"  {name} {servos} {of} {seed}: {truth.describe()}: {what} {took:.2f} {told}",
                    file=sys.stderr,
                )
        print(f"\r{servos} {case} {index + 1} of {count}, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr)
    print(file=sys.stderr)
    if options.walks:
        options.walks.write_bytes(pickle.dumps(kept))
    return cells


def read_log(file):
    """Return the runs that a file of --log has, by their keys."""
    if file is None or not file.is_file():
        return {}
    return {key: tuple(values) for key, values in map(json.loads, file.read_text().splitlines())}


def write_log(options, key, run):
    """Write a run to the file of --log."""
    if options.log is not None:
        with options.log.open("a") as file:
            file.write(json.dumps([key, run]) + "\n")
    if options.verbose:
        print(f"  {key}: {run}", file=sys.stderr, flush=True)


def numbers(case, cell):
    """Return the numbers of a cell for the file of --json."""
    whats = [one[0] for one in cell]
    alarms = len(whats) - whats.count("nothing")
    if case == "pushed":
        return {"alarms": alarms, "pushes": PUSHES * len(cell)}
    if case == "healthy":
        return {"alarms": alarms, "minutes": round(sum(one[4] for one in cell) / 60.0)}
    took = [one[1] for one in cell if one[0] in ("in time", "late")] or [np.nan]
    found, late, wrong = (whats.count(what) for what in ("in time", "late", "wrong"))
    return {"in_time": found, "late": late, "wrong": wrong, "runs": len(cell), "median": np.median(took)}


def row(case, cell, options):
    """The text of a cell of the table."""
    whats = [one[0] for one in cell]
    if case == "pushed":
        return f"{len(whats) - whats.count('nothing')} alarms in {PUSHES * len(cell)} pushes"
    if case == "healthy":
        minutes = sum(one[4] for one in cell) / 60.0
        banks, probes = (sum(one[k] for one in cell) / minutes for k in (2, 3))
        alarms = len(whats) - whats.count("nothing")
        return f"{alarms} alarms in {minutes:.0f} min; banks an hour {60 * banks:.0f}, probes an hour {60 * probes:.0f}"
    took = [one[1] for one in cell if one[0] in ("in time", "late")]
    median = f"{np.median(took):.2f} s" if took else "-"
    found = f"{whats.count('in time')} (+{whats.count('late')}) of {len(cell)}"
    text = f"{found}; {whats.count('wrong')}, {whats.count('alarm')}; {median}"
    if whats.count("part"):
        text += f"; {whats.count('part')} first in part"
    if whats.count("cannot tell"):
        text += f"; {whats.count('cannot tell')} cannot tell"
    if options.closed:
        fast = sum(one[2] >= 0.9 for one in cell)
        text += f"; {fast} at >= 90 % of their speed"
        text += f", median {100 * np.median([one[2] for one in cell]):.0f} %"
    return text


if __name__ == "__main__":
    main()
