"""Identify a robot from a bag of its two exercises (docs/identify.md), as the command `identify` does.

python examples/identify_from_bag.py [--weight KG] BAG [BAG]
python examples/identify_from_bag.py [--write BAG]

Without a bag it shows, on a synthetic recording of a servo, what a bag has to contain: commands, single readings with
their times, and the IMU. --write: to a bag, on which the command `identify` can be tried.
"""

import argparse
from pathlib import Path

import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification import Recording, identify, suspended_exercise
from hexapod_dynamics.identification.bag import read_bag, write_bag
from hexapod_dynamics.identification.exercise import split_exercises
from hexapod_dynamics.identification.identify import format_table
from hexapod_dynamics.robot import Robot

PERIOD, LATENCY, LAG, ROTOR = 0.02, 0.022, 0.018, 1e-4  # [s] between commands; of the servos; inertia/stiffness [s^2]
options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("bag", nargs="*", type=Path)
options.add_argument("--weight", type=float, help="the robot on a scale [kg]")
options.add_argument("--write", type=Path, metavar="BAG", help="folder to which the synthetic recording is written")
given = options.parse_args()
robot = Robot.jethexa()
if given.bag:
    parts = [split_exercises(robot, read_bag(bag, robot)) for bag in given.bag]
    suspended = next((hanging for hanging, _ in parts if hanging is not None), None)
    standing = next((stood for _, stood in parts if stood is not None), None)
else:
    # Servos without play and dead zone: J/k qddot = s(t - LATENCY) - g/k - q - LAG qdot, J: inertia of links and rotor,
    # g: weight of the links; a target is reached one period after it was sent. Each joint is read every 0.16 s, the IMU
    # hangs still.
    exercise, step, model = suspended_exercise(robot), 5e-4, WholeBodyModel(robot)
    fine = np.arange(exercise.time[0], exercise.time[-1], step)
    weight = np.array([model.gravity_force(np.eye(3), targets)[6:] for targets in exercise.targets])
    rest = exercise.targets - weight / robot.servo.stiffness
    played = np.array([np.interp(fine - LATENCY - PERIOD, exercise.time, angles) for angles in rest.T])
    links = np.diag(model.mass_matrix(exercise.targets.mean(axis=0)))[6:] / robot.servo.stiffness
    angle, rate, followed = played[:, 0], np.zeros(robot.joint_count), np.empty_like(played)
    for k, target in enumerate(played.T):
        push = step / (links + ROTOR)
        rate = (rate + push * (target - angle)) / (1.0 + push * LAG)
        angle = angle + step * rate
        followed[:, k] = angle
    time = fine[::320]
    read = followed[:, ::320].ravel()
    joint = np.repeat(np.arange(robot.joint_count), len(time))
    order = np.argsort(np.tile(time, robot.joint_count), kind="stable")
    still = np.tile([0.0, 0.0, 9.81], (len(time), 1))
    readings = np.tile(time, robot.joint_count)[order], joint[order], read[order]
    suspended = Recording(exercise.time, exercise.targets, *readings, time, still, np.zeros_like(still))
    standing = None
    if given.write:
        write_bag(given.write, robot, suspended)
findings = identify(robot, suspended, standing, weighed=given.weight).findings
if not given.bag:  # nothing but the lag is in it
    findings = [one for one in findings if one.name.endswith((".latency", ".lag"))][:6]
    print(f"true: latency {1e3 * LATENCY:.1f} ms, lag {1e3 * LAG:.1f} ms")
print(format_table(findings))
