"""Environments of Gymnasium: simulated time over real time on one core, the Python loop's share, many robots, threads.

    ./with_ros2 python3 benchmark/learning.py [--quick]

Needs gymnasium. Random actions, which move the joints more than a walk does, and the tripod gait. `the loop` is the
time that is not the compiled physics: gymnasium's wrappers, checks, copies, and handing the arrays to compiled code.
"""

import argparse
import os
import time

import gymnasium
import numpy as np

import hexapod_dynamics.learning
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.learning.registration import NAMES

gymnasium.register_envs(hexapod_dynamics.learning)
STEPS = 500


def least(call, number, rounds=7):
    """Best time [s] of a call."""
    best = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(number):
            call()
        best = min(best, (time.perf_counter() - begin) / number)
    return best


def one_robot(rounds):
    """Print the table of single environments, on one core."""
    print(f"{'environment':30}{'actions':>10}{'us a step':>11}{'x real time':>13}{'the loop':>10}")
    for name in NAMES:
        environment = gymnasium.make(name, reach=1.0)
        walker = environment.unwrapped.walker
        gait = TripodGait().bind(walker.robot)
        gait.reset(walking=True)
        steady = np.array([gait.step(walker.period)[0] - walker.pose for _ in range(STEPS)])
        for kind, actions in (("random", np.random.default_rng(0).uniform(-0.5, 0.5, (STEPS, 18))), ("tripod", steady)):
            best = np.inf
            for seed in range(rounds):
                environment.reset(seed=seed)
                steps, begin = 0, time.perf_counter()
                for action in actions:
                    steps += 1
                    if environment.step(action)[2]:
                        break
                best = min(best, (time.perf_counter() - begin) / steps)
            compiled = least(
                lambda walker=walker, a=actions[0]: walker._memory.run(a, walker.period, walker.steps), 200
            )
            share = 1.0 - compiled / best
            print(f"{name:30}{kind:>10}{best * 1e6:11.1f}{walker.period / best:13.0f}{share:10.0%}", flush=True)
        environment.close()


def many_robots(rounds, cores):
    """Print the table of vectorised environments."""
    print(f"\n{'make_vec, 32 robots':30}{'cores':>10}{'threads':>11}{'x real time':>13}")
    for name in NAMES:
        for used in sorted({1, len(cores)}):
            os.sched_setaffinity(0, sorted(cores)[:used])
            many = gymnasium.make_vec(name, num_envs=32, threads=used)
            many.reset(seed=0)
            actions = np.random.default_rng(0).uniform(-0.5, 0.5, (32, 18))
            best = least(lambda many=many, actions=actions: many.step(actions), 20, rounds)
            print(f"{name:30}{used:10}{used:11}{32 * 0.02 / best:13.0f}", flush=True)
            many.close()
    os.sched_setaffinity(0, cores)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 20
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:1])
    one_robot(rounds)
    many_robots(rounds, cores)


if __name__ == "__main__":
    main()
