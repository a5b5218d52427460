"""Prints what the damage detector costs: its calls in a walk in real time, its banks, and 903 hypotheses.

    ./with_ros2 python benchmark/identification_cost.py [--seconds 30] [--workers 1]

The walk is on the built-in physics with softer servos than the model's; half a tibia breaks off half-way and is not
declared, so that one bank follows the other: the most that the detector ever computes. As in the node the bank runs on
threads of low priority. 903: 42 single damages (18 links missing, 18 joints limp, 6 halves of tibias) and their pairs,
one gait period of 1.3 s in steps of 2 ms, by `simulate_many` and as the detector's bank. CPU times are of the process,
less the physics of the walk, which is timed apart.
"""

import argparse
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from support.blind_walk import TICK, BlindWalk

from hexapod_dynamics.detection.bank import HypothesisBank
from hexapod_dynamics.detection.hypotheses import both, singles
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Predictor, Simulator, Truth, simulate_many

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
PERIOD, STEP = 1.3, 2e-3  # [s]
WARM_UP = 3.0  # [s] that do not count


class Timed:
    """Calls of a bound method: wall time [s] of each and CPU time [s] of its thread in all."""

    def __init__(self, owner, name):
        self.took, self.cpu, self._call = [], 0.0, getattr(owner, name)
        setattr(owner, name, self)

    def __call__(self, *args, **kwargs):
        begun, cpu = time.perf_counter(), time.thread_time()
        try:
            return self._call(*args, **kwargs)
        finally:
            self.took.append(time.perf_counter() - begun)
            self.cpu += time.thread_time() - cpu


def low_priority():
    """As in the node: a lower priority than that of the nodes which move the robot."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def walk(seconds, workers):
    """Walk in real time and break half-way; print what `update` and the banks take."""
    pool = ThreadPoolExecutor(workers, "bank", low_priority)
    physics = Simulator(ROBOT, timestep=2e-3, truth=Truth(stiffness=0.9))
    blind = BlindWalk(ROBOT, physics, AdaptiveGait(), executor=pool, obey=False)
    detector = blind.detector
    detector.warm_up()
    blind.gait.command(0.07, 0.0, 0.0)
    blind.run(WARM_UP)
    detector.update = update = Timed(detector, "update")
    decide, compare = Timed(detector.decisions, "from_bank"), Timed(detector._bank, "_compare")
    calls = [update, *(Timed(detector, name) for name in ("command", "measure_joints", "measure_attitude", "bus"))]
    for broken in (False, True):
        if broken:
            blind.damage(WHOLE.broken("RM.tibia", 0.5))
        for timed in (*calls, decide, compare):
            timed.took.clear()
            timed.cpu = 0.0
        banks, count, durations = detector.banks, detector.banks, []
        begun, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
        for k in range(round(0.5 * seconds / TICK)):
            blind.tick()
            if detector.banks != count:
                count = detector.banks
                durations.append(detector.bank_time)
            time.sleep(max(0.0, begun + (k + 1) * TICK - time.perf_counter()))
        elapsed = time.perf_counter() - begun
        main = time.thread_time() - main
        behind = time.process_time() - cpu - main
        own = sum(timed.cpu for timed in calls)
        times = 1e3 * np.array(update.took)
        print(
            f"| {'half a tibia broken off' if broken else 'healthy'} | update {times.mean():.2f} ms, 99 % "
            f"{np.quantile(times, 0.99):.2f}, largest {times.max():.2f} | detector {100 * own / elapsed:.1f} % of a "
            f"core, banks {100 * behind / elapsed:.1f} % |",
            flush=True,
        )
        if durations:
            print(
                f"| {count - banks} banks | {np.median(durations):.2f} s each, at most {np.max(durations):.2f} s, "
                f"{behind / (count - banks):.2f} s of CPU each; comparison {1e3 * np.median(compare.took):.1f} ms, "
                f"decision {1e3 * np.median(decide.took):.2f} ms, at most {1e3 * np.max(decide.took):.2f} ms |",
                flush=True,
            )
    pool.shutdown()


def hypotheses():
    """42 single damages and their pairs."""
    found = [one for one in singles(ROBOT, WHOLE) if one.kind != "short" or 0.5 in one.values.values()]
    return found + [together(one, other) for one, other in itertools.combinations(found, 2)]


def together(one, other):
    """Both damages; where one takes away the part that the other is about, that one alone."""
    pair = both(one, other)
    try:
        pair.applied(WHOLE)
    except MorphologyError:
        return one if one.kind == "missing" else other
    return pair


def bank(found):
    """Simulate the hypotheses over a period on all cores: with `simulate_many`, and with the detector's bank."""
    cores = os.cpu_count()
    morphologies = [one.applied(WHOLE) for one in found]
    with ThreadPoolExecutor(cores) as pool:
        options = {"gait": TripodGait().bind(ROBOT), "timestep": STEP, "log_every": 10, "progress": lambda *_: None}
        simulate_many(ROBOT, morphologies[:4], PERIOD, pool, **options)
        begun = time.perf_counter()
        simulate_many(ROBOT, morphologies, PERIOD, pool, **options)
        print(f"| {len(found)} hypotheses x {PERIOD} s, simulate_many, {cores} cores | {_since(begun)} |", flush=True)
        gait = AdaptiveGait().bind(ROBOT)
        gait.command(0.07, 0.0, 0.0)
        targets = np.array([gait.step(TICK)[0].copy() for _ in range(round(PERIOD / TICK))])
        model = Predictor(ROBOT, timestep=STEP)
        model.set_state(np.zeros(3), np.eye(3), targets[0], np.zeros(6 + ROBOT.joint_count))
        model.position[2] = model.resting_height()
        tasks = HypothesisBank(ROBOT, TICK, STEP, len(targets), 4).damaged(model.snapshot(), WHOLE, targets, found)
        list(pool.map(lambda task: task(), tasks[:4]))
        begun = time.perf_counter()
        list(pool.map(lambda task: task(), tasks))
        print(f"| {len(found)} hypotheses x {PERIOD} s, the detector's bank, {cores} cores | {_since(begun)} |")


def _since(begun):
    return f"{time.perf_counter() - begun:.2f} s"


def main():
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of the walk, half of them healthy")
    parser.add_argument("--workers", type=int, default=1, help="threads of the bank, as the node's parameter")
    options = parser.parse_args()
    bank(hypotheses())
    walk(options.seconds, options.workers)


if __name__ == "__main__":
    main()
