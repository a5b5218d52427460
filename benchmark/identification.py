"""Prints whether the robot walks on after HexaHeal's 21 losses, on truths that are not its model, when nobody tells it.

    ./with_ros2 python benchmark/identification.py [--seeds 10] [--physics mujoco]

Each run: a walk at 7.7 cm/s at a random phase, on a robot with other masses, servos, dead band, friction and ground
(flat to 8 mm rough) than the model's, whose servos are the model's; the package's IMU noise and a bus that loses 0.5 %
of its bytes; nobody tells the software anything. Then one or two legs are torn off, and the speed over 8 s is scored as
HexaHeal does. Other damage, and servos that are not the model's: benchmark/real_servos.py. Progress goes to stderr.
"""

import argparse
import itertools
import sys
import time

import numpy as np
import results
from support.blind_walk import BlindWalk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LEGS = ROBOT.leg_names
LOSSES = [(leg,) for leg in LEGS] + list(itertools.combinations(LEGS, 2))
PHYSICS = {"mujoco": MujocoSimulator, "built_in": Simulator}
TIMESTEP = {"mujoco": 0.001, "built_in": 0.002}  # [s]
CYCLE = 1.3  # [s]
WARM_UP = 6.0  # [s] of walking before anything happens
SPEED, SCORED = 0.077, 8.0  # [m/s], [s] over which the speed is taken


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


def walk(seed, physics):
    """A BlindWalk that has warmed up."""
    random = np.random.default_rng(seed)
    simulator = PHYSICS[physics](ROBOT, timestep=TIMESTEP[physics], truth=random_truth(random))
    blind = BlindWalk(ROBOT, simulator, AdaptiveGait(), seed=seed)
    blind.gait.command(SPEED, 0.0, 0.0)
    blind.run(WARM_UP + random.uniform(0.0, CYCLE))
    return blind


def share_of_speed(blind):
    """Mean forward speed while it is scored, as a share of the commanded one; the largest tilt [rad]."""
    reached, tilt = 0.0, 0.0
    for _ in range(round(SCORED / 0.02)):
        before = np.array(blind.physics.position)
        heading = np.arctan2(blind.physics.rotation[1, 0], blind.physics.rotation[0, 0])
        blind.tick()
        moved = np.array(blind.physics.position) - before
        reached += np.cos(heading) * moved[0] + np.sin(heading) * moved[1]
        tilt = max(tilt, float(np.arccos(np.clip(blind.physics.rotation[2, 2], -1.0, 1.0))))
    return reached / SCORED / SPEED, tilt


def main():
    """Run the losses in each physics and print a line for each run and for all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--physics", default=",".join(PHYSICS), help="mujoco, built_in or both, with a comma")
    parser.add_argument("--seeds", type=int, default=10, help="of each of the 21 losses")
    results.add_option(parser)
    options = parser.parse_args()
    worlds = options.physics.split(",")
    if set(worlds) - set(PHYSICS):
        parser.error(f"--physics {options.physics}: allowed are {', '.join(PHYSICS)}")
    count = len(LOSSES) * options.seeds
    for physics in worlds:
        good, began = 0, time.monotonic()
        for index in range(count):
            blind = walk(5000 + index, physics)
            blind.damage(WHOLE.without(*LOSSES[index % len(LOSSES)]))
            speed, tilt = share_of_speed(blind)
            good += speed >= 0.5 and tilt < np.pi / 4
            told = "; ".join(f"{at:.2f} {decision.text}" for at, decision in blind.decisions)
            print(
                f"  {index}: {blind.physics.morphology.describe()}, declared {blind.declared.describe()} ({told}), "
                f"{100 * speed:.0f} % of the speed, tilt {np.degrees(tilt):.1f} deg",
                flush=True,
            )
            print(f"\r{index + 1} of {count}, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr, flush=True)
        results.record(options.json, "hexaheal", **{physics: {"right": int(good), "runs": count}})
        print(f"\n| HexaHeal, nobody tells, {physics} | {good} of {count} walks on at >= 50 % |", flush=True)


if __name__ == "__main__":
    main()
