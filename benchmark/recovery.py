"""How well the robot walks on with what is left: python benchmark/recovery.py [--physics both] [--seeds 10].

Prints the table of docs/gait.md. The simulated robot differs from the model that plans are made for: mass,
payload, stiffness of servos, friction and slope are drawn anew for each seed. Beside the adaptive gait stand the
unchanged tripod and a plain wave gait of the remaining legs.
"""

import argparse
import os
import sys
from collections import defaultdict
from concurrent.futures import as_completed
from itertools import combinations

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results

from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth
from hexapod_dynamics.worker_processes import WorkerProcesses

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
SPEED = 0.077
LEGS, LINKS = ROBOT.leg_names, ("coxa", "femur", "tibia")
# Angles [rad] at which joints lock: about where a walk has them, and beyond.
LOCKED_AT = {
    "coxa": (-0.6, -0.3, 0.0, 0.3, 0.6),
    "femur": (-0.3, 0.0, 0.3, 0.6, 0.9),
    "tibia": (-0.9, -0.5, -0.2, 0.1, 0.4),
}
TWISTS = {
    "forward": (0.077, 0.0, 0.0),
    "back": (-0.06, 0.0, 0.0),
    "left": (0.0, 0.06, 0.0),
    "right": (0.0, -0.06, 0.0),
    "turn left": (0.0, 0.0, 0.25),
    "turn right": (0.0, 0.0, -0.25),
    "mixed left": (0.05, 0.02, 0.1),
    "mixed right": (0.04, -0.03, -0.1),
}


def truth(seed):
    """The simulated robot of a seed; seed 0 is the model itself on ground with a friction of 0.6."""
    if seed == 0:
        return Truth()
    rng = np.random.default_rng(seed)
    return Truth(
        mass=rng.uniform(0.9, 1.1),
        payload=rng.uniform(0.0, 0.2),
        payload_x=rng.uniform(-0.02, 0.02),
        payload_y=rng.uniform(-0.02, 0.02),
        stiffness=rng.uniform(0.8, 1.2),
        friction=rng.uniform(0.5, 0.9),
        slope=rng.uniform(0.0, 3.0),
        slope_yaw=rng.uniform(0.0, 360.0),
    )


def cases():
    """Name, group and morphology of everything that is lost."""
    yield "whole", "healthy", WHOLE
    for leg in LEGS:
        yield leg, "one leg", WHOLE.without(leg)
        for link in LINKS[1:]:
            yield f"{leg}.{link}", "one link", WHOLE.without(f"{leg}.{link}")
        for link in LINKS:
            for angle in LOCKED_AT[link]:
                yield f"{leg}.{link} at {angle}", "locked joint", WHOLE.locked(f"{leg}.{link}", angle)
            yield f"{leg}.{link} limp", "limp joint", WHOLE.limp(f"{leg}.{link}")
    for count, group in ((2, "two legs"), (3, "three legs"), (4, "four legs")):
        for lost in combinations(LEGS, count):
            yield "+".join(lost), group, WHOLE.without(*lost)


def measure(physics, kind, morphology, seed, twist=(SPEED, 0.0, 0.0), settle=5.0, seconds=10.0):
    """Walk; return share of the commanded speed, heading error [deg], tilt [deg], whether it has fallen."""
    simulator = Simulator if physics == "built_in" else MujocoSimulator
    if kind == "tripod":
        gait = TripodGait().bind(ROBOT, morphology)
    else:
        gait = AdaptiveGait(pattern=kind, tilt_limit=0.0 if kind != "auto" else 0.14).bind(ROBOT, morphology)
    gait.command(*twist)
    sim = simulator(ROBOT, morphology, gait=gait, timestep=2e-3, command_period=0.02, truth=truth(seed))
    sim.run(settle, log_every=20)
    # Whole cycles: the sway of the body adds nothing.
    seconds = 0.02 * round(round(seconds / sim.gait.period) * sim.gait.period / 0.02)
    start, rotation = sim.position.copy(), sim.rotation.copy()
    log = sim.run(seconds, log_every=10)
    angles = np.degrees(log.euler_zyx)
    wanted, _ = arc(np.array(twist), seconds)
    turn = np.degrees(twist[2]) * seconds
    turned = angles[-1, 0] - angles[0, 0]
    way = (rotation.T @ (sim.position - start))[:2]
    length = np.linalg.norm(wanted)
    share = way @ wanted / length**2 if length > 0.02 else turned / turn
    level = rotation_tilt(log)
    return share, turned - turn, level.max(), level.max() > 60.0


def arc(twist, seconds):
    """Where (x, y) [m] and how far round [rad] a twist leads in some seconds."""
    vx, vy, wz = twist
    a = wz * seconds
    if abs(a) < 1e-9:
        return np.array([vx, vy]) * seconds, 0.0
    s, c = np.sin(a) / wz, (1.0 - np.cos(a)) / wz
    return np.array([s * vx - c * vy, c * vx + s * vy]), a


def rotation_tilt(log):
    """Angle [deg] between the body's z and the one at the start of the log (the slope of the ground is not tilt)."""
    up = log.rotation[:, :, 2]
    mean = up.mean(axis=0) / np.linalg.norm(up.mean(axis=0))
    return np.degrees(np.arccos(np.clip(up @ mean, -1.0, 1.0)))


def job(physics, kind, name, group, values, seed, twist):
    """One walk, in a process of its own."""
    return physics, kind, name, group, seed, measure(physics, kind, values, seed, twist)


def write(given, physics, kind, groups):
    """Write the numbers of a gait in a physics into the file of --json: without four lost legs, and these alone."""

    def numbers(rows):
        share, fell = np.array([row[2] for row in rows]), np.array([row[5] for row in rows], bool)
        recovered = np.count_nonzero((share >= 0.5) & ~fell)
        heading = max(abs(row[3]) for row in rows)
        return {"walks": len(rows), "recovered": recovered, "least": share.min(), "heading": heading}

    four = groups.pop("four legs", [])
    of = numbers([row for rows in groups.values() for row in rows])
    legs = [numbers(groups[name]) for name in ("one leg", "two legs", "three legs") if name in groups]
    of["legs"] = [one["recovered"] for one in legs]
    of["hexaheal"] = [sum(one[key] for one in legs[:2]) for key in ("recovered", "walks")]
    results.record(given.json, f"{kind}, twists" if given.twists else kind, **{physics: of})
    if four:
        results.record(given.json, f"{kind}, four legs", **{physics: numbers(four)})


def main():
    """Run all and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--physics", default="both", choices=["built_in", "mujoco", "both"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--gaits", default="auto,tripod,wave")
    parser.add_argument("--twists", action="store_true", help="eight twists for one and two lost legs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    results.add_option(parser)
    given = parser.parse_args()
    worlds = ["built_in", "mujoco"] if given.physics == "both" else [given.physics]
    seeds, jobs = range(given.first, given.first + given.seeds), []
    for physics in worlds:
        for kind in given.gaits.split(","):
            for name, group, morphology in cases():
                if given.twists:
                    if group in ("healthy", "one leg", "two legs"):
                        jobs += [
                            (physics, kind, f"{name}: {label}", group, morphology, seed, twist)
                            for label, twist in TWISTS.items()
                            for seed in seeds
                        ]
                    continue
                drawn = seeds if kind == "auto" else seeds[:1]
                jobs += [(physics, kind, name, group, morphology, seed, (SPEED, 0.0, 0.0)) for seed in drawn]
    walks = defaultdict(list)
    with WorkerProcesses(given.jobs) as pool:
        futures = [pool.submit(job, *each) for each in jobs]
        for done, future in enumerate(as_completed(futures), start=1):
            physics, kind, name, group, seed, result = future.result()
            walks[physics, kind, group].append((name, seed, *result))
            end = "\n" if done == len(futures) else ""
            if sys.stderr.isatty() or done % 50 == 0 or end:
                print(f"\r{done} of {len(futures)} walks", end=end or "", file=sys.stderr, flush=True)
    print("| physics | gait | case | walks | least speed | mean speed | heading error | tilt | fell | recovered |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (physics, kind, group), rows in walks.items():
        share, heading, tilt, fell = (np.array([row[k] for row in rows]) for k in range(2, 6))
        recovered = np.count_nonzero((share >= 0.5) & ~fell)
        print(
            f"| {physics} | {kind} | {group} | {len(rows)} | {100 * share.min():.0f} % | {100 * share.mean():.0f} % | "
            f"{np.abs(heading).max():.1f} deg | {tilt.max():.1f} deg | {np.count_nonzero(fell)} | {recovered} |"
        )
    for physics in worlds:
        for kind in given.gaits.split(","):
            write(given, physics, kind, {group: rows for (*of, group), rows in walks.items() if of == [physics, kind]})


if __name__ == "__main__":
    main()
