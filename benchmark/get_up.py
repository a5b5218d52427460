"""Prints how often, and how fast, a fallen robot gets up: one row a case.

    ./with_ros2 python benchmark/get_up.py [--rows whole,lost] [--runs 50] [--first 10000] [--speed 2.0] [--json FILE]

Each run is a fresh fall in MuJoCo with collisions of all links (tools/get_up_search/fallen_robot.py): attitude at
random, height 0.2 to 0.4 m, or as much more as puts all links above the ground, joints within 0.3 rad of the stance
(`tangled`: anywhere within the limits), `servos=real` with the run's seed, friction 0.5 to 0.9, masses +-10 %. What is
lost is declared. Times are from the first motion on, after the 2 s of rest that are announced. `sat`: longest time in a
row in which a servo was at its torque limit; `heat`: largest warming of a servo, by the thermal model of
fallen_robot.py; of both, as of the times, the median run and the worst. A run takes about 1 s of CPU time.
"""

import argparse
import itertools
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.get_up import GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_from_vector
from hexapod_dynamics.simulation import Ground
from hexapod_dynamics.simulation.ground import parse_ground
from hexapod_dynamics.tools.get_up_search.fallen_robot import (
    TICK,
    FallenRobot,
    draw_joints,
    draw_rotation,
    draw_truth,
)

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LIBRARY = GetUpLibrary.load_for_robot(ROBOT)
GAIT = AdaptiveGait().bind(ROBOT)
STANCE = GAIT.position.copy()
LEGS = ROBOT.leg_names
PARTS = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]
FREEZES = 0.06  # [s] within which nothing moves any more after a stop
FOLDED = -1.45  # [rad] angle of a tibia that is folded along its femur, beside its coxa


def joints_anywhere(physics, random):
    """Return joint angles (n,) [rad] anywhere within the limits at which no link is within another.

    Angles at which a tibia is folded through its own coxa are excluded, because no motion leads to them (FOLDED)
    or away from them.
    """
    joints = ROBOT.joints
    low, high = np.array([j.lower for j in joints]), np.array([j.upper for j in joints])
    low[2::3] = np.maximum(low[2::3], FOLDED)
    for _ in range(2000):
        angles = random.uniform(low, high)
        physics.reset(position=[0.0, 0.0, 1.0], joints=angles)
        if physics.data.ncon == 0:
            return angles
    return angles


class Case:
    """A row: name, what is lost and declared, the ground, values of the Truth, whether joints are anywhere; within [s]:
    how soon it is to stand.
    """

    def __init__(
        self, name, *, declared=WHOLE, actual=None, ground=None, truth=None, tangled=False, speed=None, within=9.0
    ):
        self.name, self.declared, self.actual = name, declared, actual or declared
        self.ground, self.truth, self.tangled, self.speed = ground, truth or {}, tangled, speed
        self.within = within

    def fallen(self, seed, speed):
        """A robot that has fallen, with the random generator of the run."""
        random = np.random.default_rng(seed)
        GAIT.set_morphology(self.declared)
        get_up = GetUp(ROBOT, LIBRARY, self.speed or speed)
        truth = draw_truth(random, seed, **self.truth)
        ground = self.ground(random, truth.friction) if self.ground else None
        robot = FallenRobot(ROBOT, get_up, truth=truth, ground=ground, actual=self.actual, seed=seed)
        joints = joints_anywhere(robot.physics, random) if self.tangled else draw_joints(STANCE, random)
        robot.drop(random.uniform(0.2, 0.4), draw_rotation(random), joints)
        return robot, random


def rights_itself(case, seed, speed):
    """Whether it stands at the end, time until upright and until it stands [s], saturation [s], heat [K], reason."""
    robot, _ = case.fallen(seed, speed)
    upright, began = [np.nan], [np.nan]

    def watch(robot):
        if robot.get_up.phase is not Phase.ANNOUNCED and np.isnan(began[0]):
            began[0] = robot.time
        if robot.get_up.phase is Phase.STAND and np.isnan(upright[0]):
            upright[0] = robot.time

    robot.before_tick = watch
    robot.get_up.begin(GAIT, case.declared)
    robot.run(60.0)
    sits = "cannot stand" in robot.get_up.reason  # upright, and no gait for what is left
    good = (robot.get_up.phase is Phase.DONE or sits) and robot.physics.rotation[2, 2] > 0.9
    reason = "" if good else f"{seed}: {robot.get_up.phase.value}, {robot.get_up.reason}"
    return good, upright[0] - began[0], robot.time - began[0], robot.saturated.max(), robot.heat.max(), reason


def row(case, runs, first, speed):
    """Run a case, print its row, return its numbers."""
    outcomes = [rights_itself(case, first + k, speed) for k in range(runs)]
    good = [r for r in outcomes if r[0]]
    numbers = np.array([r[1:5] for r in good] or [[np.nan] * 4])
    (up, stands, sat, heat), worst = np.median(numbers, axis=0), numbers.max(axis=0)
    soon = int((numbers[:, 1] <= case.within).sum())
    print(
        f"| {case.name} | {len(good)} of {runs} | {soon} in {case.within:g} s | {up:.1f}, {worst[0]:.1f} | "
        f"{stands:.1f}, {worst[1]:.1f} | {sat:.2f}, {worst[2]:.2f} | {heat:.1f}, {worst[3]:.1f} | "
        f"{'; '.join(r[5] for r in outcomes if r[5])[:300]} |",
        flush=True,
    )
    return {"stands": len(good), "in_time": soon, "median": stands, "worst": worst[1]}


# ---- rows in which it gets up ----------------------------------------------------------------------------------------


def whole():
    return [Case("whole, near the stance"), Case("whole, near the stance, 5 rad/s", speed=5.0, within=7.0)]


def tangled():
    return [Case("whole, joints anywhere", tangled=True, within=15.0)]


def lost():
    sets = [names for count in (1, 2, 3) for names in itertools.combinations(LEGS, count)]
    return [Case("without " + " ".join(names), declared=WHOLE.without(*names)) for names in sets]


def joints():
    cases = [Case(f"{part} locked", declared=WHOLE.locked(part, float(STANCE[k]))) for k, part in enumerate(PARTS)]
    cases += [Case(f"{part} limp", declared=WHOLE.limp(part)) for part in PARTS]
    return cases + [Case(f"half of {leg}.tibia", declared=WHOLE.broken(f"{leg}.tibia", 0.5)) for leg in LEGS]


def ground():
    def slope(random, friction):
        return Ground(friction=friction, slope=10.0, slope_yaw=45.0 * random.integers(8))

    def rough(kind):
        return lambda random, friction: Ground(
            friction=friction, **parse_ground(kind, 0), seed=int(random.integers(1000))
        )

    kinds = (
        ("slope 10 degrees", slope),
        ("gravel 20 mm", rough("gravel:0.02")),
        ("blocks 30 mm", rough("blocks:0.03")),
    )
    return [
        Case(f"{name}, {who}", declared=morphology, ground=make)
        for name, make in kinds
        for who, morphology in (("whole", WHOLE), ("without RM", WHOLE.without("RM")))
    ]


def margins():
    top = {"payload_x": 0.0, "payload_y": 0.0}
    return [
        Case("strength 0.7", truth={"stiffness": 0.7}),
        Case("mass x 1.3", truth={"mass": 1.3}),
        Case("friction 0.2", truth={"friction": 0.2}),
        Case("friction 1.2", truth={"friction": 1.2}),
        Case("0.4 kg 60 mm above the body", truth={"payload": 0.4, "payload_z": 0.06, **top}),
    ]


# ---- rows in which it must not move ----------------------------------------------------------------------------------


class Hands:
    """Hold the body of a robot in the air: springs to a place that sways and trembles as hands do."""

    def __init__(self, robot, random, still):
        self._place, self._turn = robot.physics.position + [0.0, 0.0, 0.3], robot.physics.rotation.copy()
        size = 0.15 if still else 1.0
        self._waves = [
            (random.normal(size=3) * size * amplitude, random.normal(size=3) * size * angle, rate, random.uniform(0, 6))
            for amplitude, angle, low, high in ((0.03, 0.15, 0.3, 0.8), (0.01, 0.06, 0.8, 2.0), (0.0007, 0.004, 8, 10))
            for rate in (2.0 * np.pi * random.uniform(low, high),)
        ]

    def __call__(self, robot):
        physics = robot.physics
        shift, turn = np.zeros(3), np.zeros(3)
        for amplitude, angle, rate, phase in self._waves:
            shift += amplitude * np.sin(rate * robot.time + phase)
            turn += angle * np.sin(rate * robot.time + phase)
        here = physics.rotation
        target = self._turn @ rotation_from_vector(turn)
        error = 0.5 * sum(np.cross(here[:, k], target[:, k]) for k in range(3))
        force = here.T @ (2000.0 * (self._place + shift - physics.position)) - 80.0 * physics.nu[:3]
        force += here.T @ [0.0, 0.0, 25.0]
        physics.push([*force, *(here.T @ (20.0 * error) - 0.6 * physics.nu[3:6])])


def never_moves(runs, first):
    """Rows in which the robot must not move: set-points that were commanded beyond the trial of the joints."""
    carried = 0
    for name, still in (("carried", False), ("held as still as hands can", True)):
        moved, way = 0, []
        for k in range(runs):
            robot, random = Case(name).fallen(first + k, 2.0)
            hands = Hands(robot, random, still)
            robot.before_tick = hands
            for _ in range(round(1.0 / TICK)):
                robot.tick()
            before = robot.physics.q.copy()
            robot.get_up.begin(GAIT, WHOLE)
            robot.run(20.0)
            moved += robot.get_up.phase is not Phase.FAILED or "rest" not in robot.get_up.reason
            way.append(np.abs(robot.physics.q - before).max())
        carried += moved
        gave = f"joints gave way by {np.median(way):.2f} rad, at most {max(way):.2f}"
        print(f"| {name} | moved in {moved} of {runs}; {gave} | | | | | |", flush=True)
    moved = named = 0
    for k in range(runs):
        part = PARTS[int(np.random.default_rng(first + k).integers(18))]
        case = Case("", actual=WHOLE.locked(part, float(STANCE[PARTS.index(part)])))
        robot, _ = case.fallen(first + k, 2.0)
        before = robot.physics.q.copy()
        robot.get_up.begin(GAIT, WHOLE)
        robot.run(30.0)
        moved += np.abs(robot.physics.q - before).max() > 0.25 or robot.get_up.phase is not Phase.STOPPED
        leg, link = part.split(".")
        named += f"{link}_joint_{leg}" in robot.get_up.reason
    print(f"| a hand on a leg: one joint held, not declared | moved in {moved} of {runs}, named in {named} | | | | | |")
    return {"carried": carried, "walks": 2 * runs, "joint_held": moved}


def stopped(runs, first):
    """A stop at a random time: whether every set-point stands still from 60 ms after it, and stays."""
    frozen = asked = 0
    for k in range(runs):
        case = Case("")
        robot, random = case.fallen(first + k, 2.0)
        at = random.uniform(2.1, 9.0)
        robot.get_up.begin(GAIT, WHOLE)
        while robot.get_up.active and robot.time < at:
            robot.tick()
        robot.get_up.stop("emergency stop")
        for _ in range(round(FREEZES / TICK)):
            robot.tick()
        before = robot.physics.setpoints.copy()
        for _ in range(100):
            robot.tick()
        frozen += np.abs(robot.physics.setpoints - before).max() < 1e-9
        robot.get_up.begin(GAIT, WHOLE)
        robot.run(60.0)
        asked += robot.get_up.phase is Phase.DONE
    print(f"| stopped in any phase | frozen within 60 ms in {frozen} of {runs}, asked again stands {asked} | | | | | |")
    return {"frozen": frozen, "stands": asked}


ROWS = {"whole": whole, "tangled": tangled, "lost": lost, "joints": joints, "ground": ground, "margins": margins}
QUIET = {"held": never_moves, "stopped": stopped}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", default=",".join([*ROWS, *QUIET]))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--first", type=int, default=10000, help="seed of the first run of each row")
    parser.add_argument("--speed", type=float, default=2.0, help="largest speed of a joint [rad/s]")
    results.add_option(parser)
    given = parser.parse_args()
    print("| case | success | in time | upright [s]: median, worst | stands [s] | sat [s] | heat [K] | failures |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.rows.split(","):
        if name in QUIET:
            results.record(given.json, name, runs=given.runs, **QUIET[name](given.runs, given.first))
            continue
        cases = {case.name: row(case, given.runs, given.first, given.speed) for case in ROWS[name]()}
        stands, in_time, medians, worst = ([case[key] for case in cases.values()] for key in next(iter(cases.values())))
        results.record(
            given.json,
            name,
            runs=given.runs,
            walks=given.runs * len(cases),
            stands=sum(stands),
            in_time=sum(in_time),
            least_in_time=min(in_time),
            median=[min(medians), max(medians)],
            worst=max(worst),
            cases=cases,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
