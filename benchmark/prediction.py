"""Predictions against a truth that is not their model: truth x mismatch x damage, with drift, attitude error, NEES.

python benchmark/prediction.py [--runs 100] [--seconds 60] [--physics mujoco] [--gait adaptive] [--seed 0]
                               [--rough 0.008] [--damage]

The columns "in band": share of the time in which the normalised squared error of (x, y, yaw), or of (roll, pitch), lies
within the 95 % band of its chi-square.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.testing.sensed_walk import SensedWalk, errors, random_truth

GAITS = {"adaptive": AdaptiveGait, "tripod": TripodGait}
POSE_BAND, TILT_BAND = (0.216, 9.348), (0.0506, 7.378)  # 95 % of chi-square with 3 and 2 degrees of freedom


def measure(physics, gait, truth, seed, seconds, damage=None):
    """Walk once; damage: (morphology, told), after 5 s. Returns the figures of a row and what was doubted."""
    walk = SensedWalk(physics, truth, seed=seed, gait=GAITS[gait]())
    walk.run(5.0)
    if damage is not None:
        walk.damage(damage[0], told=damage[1])
    walk.run(seconds - 5.0)
    rows = np.array(walk.rows)
    pose, tilt, square_pose, square_tilt = errors(rows)
    way = np.hypot(*np.diff(rows[:, 1:3], axis=0)[::1].T).sum()
    ends = [100 * np.hypot(*(rows[-1, k : k + 2] - rows[-1, 1:3])) / max(way, 0.05) for k in (6, 11, 14)]
    inside = [
        np.mean((squares > low) & (squares < high))
        for squares, (low, high) in ((square_pose, POSE_BAND), (square_tilt, TILT_BAND))
    ]
    rms = np.degrees(np.sqrt(np.mean(tilt**2)))
    return [way, *ends, np.degrees(pose[-1, 2]), rms, *(100 * np.array(inside)), rows[:, 17].max()], walk.said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--physics", default="mujoco", choices=["mujoco", "built_in"])
    parser.add_argument("--gait", default="adaptive", choices=GAITS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rough", type=float, default=0.0, help="each truth's ground is rough by up to this [m]")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--damage", action="store_true", help="one table of damages, told and untold, instead")
    options = parser.parse_args()
    header = "   way m  drift%  odometry%  commands%  yaw deg  tilt rms  pose in band %  tilt in band %  doubt"
    print(header)
    shape = "{:8.2f} {:7.2f} {:10.1f} {:10.1f} {:8.2f} {:9.2f} {:15.0f} {:11.0f} {:6.0f}"
    if options.damage:
        whole = Morphology.whole(Robot.jethexa())
        for name, morphology in {
            "none": whole,
            "RM, LM lost": whole.without("RM", "LM"),
            "LM, RR femur lost": whole.without("LM.femur", "RR.femur"),
            "RF.tibia locked": whole.locked("RF.tibia", 0.3),
            "LR.femur limp": whole.limp("LR.femur"),
        }.items():
            for told in (True, False):
                damage = morphology, told
                figures, said = measure(options.physics, options.gait, Truth(), 0, options.seconds, damage)
                print(shape.format(*figures), f"{name}, {'told' if told else 'untold'}", *said, flush=True)
        return
    rng = np.random.default_rng(options.seed)
    table, truths = [], [random_truth(rng, options.rough) for _ in range(options.runs)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        walks = [
            pool.submit(measure, options.physics, options.gait, truth, options.seed + k, options.seconds)
            for k, truth in enumerate(truths)
        ]
        for truth, walk in zip(truths, walks, strict=True):
            figures, said = walk.result()
            table.append(figures)
            print(shape.format(*figures), truth.describe(), *said, flush=True)
    table = np.array(table)
    for name, row in (
        ("mean", table.mean(axis=0)),
        ("median", np.median(table, axis=0)),
        ("95 %", np.percentile(table, 95, axis=0)),
    ):
        print(shape.format(*row), name)


if __name__ == "__main__":
    main()
