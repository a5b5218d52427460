"""Prints what the damage detector costs: its calls in a walk in real time, and a bank of 903 hypotheses.

    ./with_ros2 python benchmark/identification_cost.py [--seconds 20] [--workers 1]

The walk is on the built-in physics with softer servos than the model's, with half a tibia broken off half-way; the bank
runs on threads of low priority, as in the node. 903: 42 single damages and their pairs, one gait period of 1.3 s in
steps of 2 ms.
"""

import argparse
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hexapod_dynamics.estimation.damage.bank import HypothesisBank
from hexapod_dynamics.estimation.damage.hypotheses import both, singles
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, Truth
from hexapod_dynamics.testing.blind_walk import TICK, BlindWalk

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
PERIOD, STEP = 1.3, 2e-3  # [s]


def low_priority():
    """As in the node: a lower priority than that of the nodes which move the robot."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def walk(seconds, workers):
    """Walk in real time and break half-way; print the durations of `update`, and of the banks."""
    pool = ThreadPoolExecutor(workers, "bank", low_priority)
    blind = BlindWalk(
        ROBOT, Simulator(ROBOT, timestep=2e-3, truth=Truth(stiffness=0.9)), AdaptiveGait(), executor=pool, obey=False
    )
    detector, took, banks = blind.detector, [], []
    detector.warm_up()
    update = detector.update

    def timed(now):
        begun, count = time.perf_counter(), detector.banks
        found = update(now)
        took.append(time.perf_counter() - begun)
        if detector.banks != count:
            banks.append(detector.bank_time)
        return found

    detector.update = timed
    blind.gait.command(0.07, 0.0, 0.0)
    begun = time.perf_counter()
    for k in range(round(seconds / TICK)):
        if k == round(0.5 * seconds / TICK):
            blind.damage(WHOLE.broken("RM.tibia", 0.5))
        blind.tick()
        time.sleep(max(0.0, begun + (k + 1) * TICK - time.perf_counter()))
    pool.shutdown()
    times = 1e3 * np.array(took[round(2.0 / TICK) :])
    print(
        f"| update of the detector, ms | mean {times.mean():.2f}, median {np.median(times):.2f}, 99 % "
        f"{np.quantile(times, 0.99):.2f}, largest {times.max():.2f} |"
    )
    print(f"| {len(banks)} banks, s | median {np.median(banks):.2f}, largest {np.max(banks):.2f} |")
    at, decision = blind.decisions[0] if blind.decisions else (np.nan, None)
    print(f"| decision | {at - 0.5 * seconds:.2f} s: {decision and decision.text} |")


def bank():
    """Simulate 903 hypotheses over a period on all cores."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(0.07, 0.0, 0.0)
    targets = np.array([gait.step(TICK)[0].copy() for _ in range(round(PERIOD / TICK))])
    found = [one for one in singles(ROBOT, WHOLE) if one.kind != "short" or 0.5 in one.values.values()]
    found += [both(one, other) for one, other in itertools.combinations(found, 2)]
    own = HypothesisBank(ROBOT, TICK, STEP, len(targets), 4)
    model = Simulator(ROBOT, WHOLE, timestep=STEP)
    model.reset(joints=targets[0])
    predictor = own._predictor(ROBOT)
    predictor.set_state(model.position, model.rotation, targets[0], np.zeros(6 + ROBOT.joint_count))
    tasks = own.damaged(predictor.snapshot(), WHOLE, targets, found)
    tasks[0]()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = time.perf_counter()
        for _ in pool.map(lambda task: task(), tasks):
            pass
        print(f"| {len(tasks)} hypotheses x {PERIOD} s, {os.cpu_count()} cores | {time.perf_counter() - begun:.2f} s |")


def main():
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    bank()
    walk(options.seconds, options.workers)


if __name__ == "__main__":
    main()
