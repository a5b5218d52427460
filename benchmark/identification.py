"""Prints how surely and how soon the damage detector finds what broke, on truths that are not its model.

    ./with_ros2 python benchmark/identification.py [--runs 20] [--physics mujoco] [--cases torn,quiet] [--minutes 60]

Without options: the whole table in both physics, hours on one core. Each run: a walk with a random command at a random
phase, on a robot with other masses, servos, dead band, friction and ground (flat to 8 mm rough; quiet: 8 mm) than the
model's; the package's IMU noise and a bus that loses 0.5 % of its bytes; nobody tells the software anything. Then it
breaks. Progress goes to stderr, the table to stdout.
"""

import argparse
import dataclasses
import itertools
import sys
import time

import numpy as np
import results
from support.blind_walk import BlindWalk

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LEGS = ROBOT.leg_names
PARTS = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]
PHYSICS = {"mujoco": MujocoSimulator, "built_in": Simulator}
CYCLE = 1.3  # [s]
WARM_UP = 6.0  # [s] of walking before anything happens
PAIRS = list(itertools.combinations(LEGS, 2))


def random_truth(random):
    """A robot and a ground that differ from the model."""
    return Truth(
        mass=random.uniform(0.93, 1.07),
        payload=random.uniform(0.0, 0.2),
        payload_x=random.uniform(-0.05, 0.05),
        payload_y=random.uniform(-0.03, 0.03),
        stiffness=random.uniform(0.8, 1.2),
        friction=random.uniform(0.45, 0.9),
        deadband=random.uniform(0.0, 1.0),
        slope=random.uniform(0.0, 2.0),
        slope_yaw=random.uniform(-180.0, 180.0),
        rough=random.choice([0.0, 0.004, 0.008]),
        seed=int(random.integers(10**6)),
    )


def random_command(random):
    """A twist (3,) [m/s, m/s, rad/s]: mostly forward, sometimes any direction."""
    angle = random.uniform(-np.pi, np.pi) if random.random() < 0.4 else 0.0
    return np.array([0.07 * np.cos(angle), 0.05 * np.sin(angle), random.uniform(-0.12, 0.12)])


def make_gait(kind):
    """A gait by its name."""
    if kind == "tripod":
        return TripodGait()
    from hexapod_dynamics.gait import AdaptiveGait

    return AdaptiveGait()


def walk(seed, options, command=None, rough=None):
    """A BlindWalk that has warmed up, and its command; rough [m]: of the ground, by default random."""
    random = np.random.default_rng(seed)
    truth = random_truth(random)
    if rough is not None:
        truth = dataclasses.replace(truth, rough=rough)
    physics = PHYSICS[options.physics](ROBOT, timestep=0.001 if options.physics == "mujoco" else 0.002, truth=truth)
    blind = BlindWalk(ROBOT, physics, make_gait(options.gait), seed=seed)
    command = random_command(random) if command is None else np.array(command)
    blind.gait.command(*command)
    blind.run(WARM_UP + random.uniform(0.0, CYCLE))
    return blind, command, random


def share_of_speed(blind, command, seconds):
    """Mean velocity along the commanded one over so many seconds, as a share of it; the largest tilt [rad]."""
    reached, tilt = [], 0.0
    for _ in range(round(seconds / 0.02)):
        before = np.array(blind.physics.position)
        heading = np.arctan2(blind.physics.rotation[1, 0], blind.physics.rotation[0, 0])
        blind.tick()
        moved = np.array(blind.physics.position) - before
        c, s = np.cos(heading), np.sin(heading)
        reached.append((c * moved[0] + s * moved[1]) * command[0] + (-s * moved[0] + c * moved[1]) * command[1])
        tilt = max(tilt, float(np.arccos(np.clip(blind.physics.rotation[2, 2], -1.0, 1.0))))
    return sum(reached) / (0.02 * len(reached)) / float(command[:2] @ command[:2]), tilt


def lost_legs(morphology):
    """Legs that can carry nothing: missing, broken or with a joint that does not work."""
    found = set()
    for leg in ROBOT.legs:
        for link in leg.links:
            name = leg.name, link.name
            if (
                morphology.remaining(*name) < 1
                or morphology.locked_angle(*name) is not None
                or morphology.is_limp(*name)
            ):
                found.add(leg.name)
    return found


def kinds(morphology):
    """What each joint is declared to be: {part: locked or limp}."""
    found = {}
    for leg in ROBOT.legs:
        for link in leg.links:
            if morphology.locked_angle(leg.name, link.name) is not None:
                found[f"{leg.name}.{link.name}"] = "locked"
            elif morphology.is_limp(leg.name, link.name):
                found[f"{leg.name}.{link.name}"] = "limp"
    return found


def damaged(kind, index, random, blind):
    """The broken Morphology of run `index` of a case."""
    if kind == "torn":
        names = [*LEGS, *(part for part in PARTS if not part.endswith("coxa"))]
        return WHOLE.without(names[index % len(names)])
    if kind == "broken":
        return WHOLE.broken(f"{LEGS[index % 6]}.tibia", (0.02, 0.5, 0.85)[index // 6 % 3])
    part = PARTS[index % 18]
    if kind == "locked":
        return WHOLE.locked(part, float(blind.physics.q[index % 18]))
    if kind == "limp":
        return WHOLE.limp(part)
    if kind == "pair torn":
        return WHOLE.without(*PAIRS[index % 15])
    if kind == "pair broken":
        one, other = PAIRS[index % 15]
        return WHOLE.broken(f"{one}.tibia", 0.05).broken(f"{other}.tibia", 0.05)
    raise ValueError(kind)


def run_damage(kind, index, options):
    """One run: whether what was declared is right, when it was [s], and the share of speed afterwards."""
    blind, command, random = walk(1000 + index, options)
    early = len(blind.decisions)
    if kind == "second":
        first, second = PAIRS[index % 15]
        blind.damage(WHOLE.without(first))
        blind.run(5.0 + random.uniform(0.0, CYCLE))
        truth = WHOLE.without(first)
        truth = truth.without(second) if index % 2 else truth.broken(f"{second}.tibia", 0.05)
    else:
        truth = damaged(kind, index, random, blind)
    begin = blind.time
    blind.damage(truth)
    wanted, joints = lost_legs(truth), kinds(truth)

    def right(blind):
        return lost_legs(blind.declared) == wanted and all(kinds(blind.declared).get(k) == v for k, v in joints.items())

    limit = 2.0 * CYCLE if "pair" in kind or kind == "second" else 1.5 * CYCLE
    blind.run(limit, until=right)
    found, took = right(blind), blind.time - begin
    speed = tilt = float("nan")
    if options.gait != "tripod":
        blind.run(max(0.0, begin + 4.0 - blind.time))
        speed, tilt = share_of_speed(blind, command, 2.0 * CYCLE)
    return found and not early, took, speed, tilt, blind


def run_hexaheal(index, options):
    """One of 21 losses x 10 seeds, as HexaHeal scores it: speed over 8 s after the damage, nothing told."""
    losses = [(leg,) for leg in LEGS] + PAIRS
    blind, command, _ = walk(5000 + index, options, command=(0.077, 0.0, 0.0))
    blind.damage(WHOLE.without(*losses[index % 21]))
    speed, tilt = share_of_speed(blind, command, 8.0)
    return speed >= 0.5 and tilt < np.pi / 4, float("nan"), speed, tilt, blind


def run_quiet(index, options, minutes):
    """Minutes of healthy or already declared walking on rough ground with changing commands and pushes; the Decisions
    made.
    """
    blind, _, random = walk(9000 + index, options, rough=0.008)
    if index % 2:
        blind.damage(WHOLE.without(LEGS[index // 2 % 6]))
        blind.declare(WHOLE.without(LEGS[index // 2 % 6]))
    while blind.time < 60.0 * minutes:
        blind.gait.command(*random_command(random))
        if random.random() < 0.5:
            angle = random.uniform(-np.pi, np.pi)
            blind.push[:2] = 6.0 * np.cos(angle), 6.0 * np.sin(angle)
            blind.run(0.3)
            blind.push[:] = 0.0
        blind.run(random.uniform(3.0, 8.0))
    return blind.decisions, blind


CASES = {
    "torn": "single leg or link torn off, servos silent",
    "broken": "foot, half a tibia or tibia broken off, servos answer",
    "locked": "joint locked",
    "limp": "joint limp",
    "pair torn": "two legs torn off at once",
    "pair broken": "two tibias broken off at once, servos answer",
    "second": "second damage in a recovery gait",
}


def main():
    """Run the cases asked for in each physics and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--physics", default=",".join(PHYSICS), help="mujoco, built_in or both, with a comma")
    parser.add_argument("--gait", choices=("adaptive", "tripod"), default="adaptive")
    parser.add_argument("--cases", default=",".join([*CASES, "hexaheal", "quiet"]))
    parser.add_argument("--minutes", type=float, default=60.0, help="of the case quiet, in all")
    parser.add_argument("--seeds", type=int, default=10, help="of each of the 21 losses of hexaheal")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    results.add_option(parser)
    options = parser.parse_args()
    physics, cases = options.physics.split(","), options.cases.split(",")
    for given, known in ((physics, PHYSICS), (cases, [*CASES, "hexaheal", "quiet"])):
        for name in given:
            if name not in known:
                parser.error(f"{name!r} is not one of {', '.join(known)}")
    for options.physics, case in itertools.product(physics, cases):
        (quiet if case == "quiet" else damages)(case, options)


def quiet(case, options):
    """Walk without damage, up to five minutes each; print the false alarms and their number."""
    alarms, count, began = 0, max(1, round(options.minutes / 5.0)), time.monotonic()
    for done, index in enumerate(range(options.first, options.first + count), start=1):
        decisions, blind = run_quiet(index, options, options.minutes / count)
        alarms += len(decisions)
        for at, decision in decisions:
            print(f"  quiet {index}: {at:.1f} s {decision.text}; {blind.physics.truth}", flush=True)
        progress(case, done, count, began)
    print(f"| false alarms in {options.minutes:g} minutes, {options.physics} | {alarms} |", flush=True)


def damages(case, options):
    """Run a case of damage; print the runs that are not right (of hexaheal each), and its line of the table."""
    count, runs, began = 21 * options.seeds if case == "hexaheal" else options.runs, [], time.monotonic()
    for done, index in enumerate(range(options.first, options.first + count), start=1):
        run = run_hexaheal(index, options) if case == "hexaheal" else run_damage(case, index, options)
        runs.append(run[:4])
        if case == "hexaheal" or not run[0]:
            told = "; ".join(f"{at:.2f} {decision.text}" for at, decision in run[4].decisions)
            truth = run[4].physics.morphology.describe()
            walked = (
                f", {100 * run[2]:.0f} % of the speed, tilt {np.degrees(run[3]):.1f} deg" if run[2] == run[2] else ""
            )
            print(f"  {case} {index}: {truth}, declared {run[4].declared.describe()} ({told}){walked}", flush=True)
        progress(case, done, count, began)
    good, took, speed, tilt = (np.array(column, float) for column in zip(*runs, strict=True))
    results.record(options.json, case, **{options.physics: {"right": int(good.sum()), "runs": len(good)}})
    what = "walks on at >= 50 %" if case == "hexaheal" else "right"
    times = "" if case == "hexaheal" else f"{np.nanmedian(took):.2f} s, at most {np.nanmax(took):.2f} s"
    print(
        f"| {CASES.get(case, 'HexaHeal, nobody tells')}, {options.physics} | {int(good.sum())} of {len(good)} "
        f"{what} | {times} | speed {100 * np.nanmedian(speed):.0f} %, least {100 * np.nanmin(speed):.0f} % | "
        f"tilt {np.degrees(np.nanmax(tilt)):.1f} deg |",
        flush=True,
    )


def progress(case, done, count, began):
    """One line on stderr, rewritten."""
    end = "\n" if done == count else ""
    print(f"\r{case}: {done} of {count}, {time.monotonic() - began:.0f} s ", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
