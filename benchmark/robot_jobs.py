"""The formulations at work on the robot, planned swings and soft servos: python benchmark/robot_jobs.py."""

import time

import numpy as np
from support.servo_tracking import leg_error, tracking_error
from support.swing_torques import ROBOT, STEP, swings, walk

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.gait.optimal import OptimalGait
from hexapod_dynamics.gait.swing_planning import plan_swing
from hexapod_dynamics.robot import Morphology


def shown(errors):
    return ", ".join(
        f"{mode} {1e3 * error:.2f} mrad ({100 * (error / errors['plain'] - 1):+.0f} %)"
        for mode, error in errors.items()
    )


def main():
    print("walking in simulation, torques of swinging legs:")
    gaits = {
        "plain (half sine)": TripodGait(**STEP),
        "plain, minimum jerk": TripodGait(**STEP, swing="minimum_jerk"),
        "optimal": OptimalGait(**STEP),
    }
    results = {name: walk(gait) for name, gait in gaits.items()}
    plain = results["plain (half sine)"]
    for name, (peak, square, speed, leap) in results.items():
        print(
            f"  {name:20s} peak {peak:.3f} N m ({100 * (peak / plain[0] - 1):+.0f} %), mean square {square:.4f} "
            f"({100 * (square / plain[1] - 1):+.0f} %), {100 * speed:.2f} cm/s, "
            f"largest leap of a rate {leap:.2f} rad/s"
        )
    _, all_swings = swings()
    start = time.process_time()
    plans = [plan_swing(ROBOT, Morphology.whole(ROBOT), swing) for swing in all_swings]
    print(
        f"  six plans: {time.process_time() - start:.2f} s of CPU, peak torque of the plans "
        f"{np.max([plan.peak_torque for plan in plans]):.3f} N m"
    )
    print("tracking error of soft servos, walking, root mean square:")
    for stiffness in (30.0, 15.0, 8.0):
        errors = {mode: tracking_error(stiffness, mode) for mode in ("plain", "torques", "rates")}
        print(f"  {stiffness:4.0f} N m/rad: {shown(errors)}")
    errors = {mode: leg_error(mode) for mode in ("plain", "torques", "rates")}
    print(f"  one leg, 2.5 Hz, 2 N m/rad: {shown(errors)}")


if __name__ == "__main__":
    main()
