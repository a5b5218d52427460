"""Identify a robot from a bag of its two exercises (docs/identify.md), as the command `identify` does.

python examples/identify_from_bag.py [--weight KG] BAG [BAG]
python examples/identify_from_bag.py [--write BAG]

Without a bag it shows, on a synthetic recording of a servo, what a bag has to contain: commands, single readings with
their times, and the IMU. --write: to a bag, on which the command `identify` can be tried.
"""

import argparse
from pathlib import Path
from time import time_ns

import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification import Recording, identify, suspended_exercise
from hexapod_dynamics.identification.bag import read_bag
from hexapod_dynamics.identification.exercise import split_exercises
from hexapod_dynamics.identification.identify import format_table
from hexapod_dynamics.robot import Robot

PERIOD, LATENCY, LAG, ROTOR = 0.02, 0.022, 0.018, 1e-4  # [s] between commands; of the servos; inertia/stiffness [s^2]


def write_bag(path: Path, robot: Robot, recording: Recording) -> None:
    """Write a Recording as a rosbag2 folder with the topics that `identify` reads, beginning now."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store, begin, nothing = get_typestore(Stores.ROS2_HUMBLE), time_ns(), (np.zeros(0), np.zeros(0))
    types, names, chip = store.types, list(robot.joint_names), np.asarray(robot.imu.rotation)
    vector, upright = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    no_attitude, unknown = np.array([-1.0] + 8 * [0.0]), np.zeros(9)  # covariances, by REP-145
    read = zip(recording.reading_joint, recording.readings, strict=True)
    sensed = zip(recording.specific_force @ chip, recording.angular_rate @ chip, strict=True)
    # Of each topic: its type, the times [s], and what follows the header in each message.
    topics = {
        "/joint_commands": (
            "JointState",
            recording.command_time,
            [(names, row, *nothing) for row in recording.commands],
        ),
        "/servos/measurements": (
            "JointState",
            recording.reading_time,
            [([names[k]], np.array([q]), *nothing) for k, q in read],
        ),
        "/imu/data_raw": (
            "Imu",
            recording.imu_time,
            [(upright, no_attitude, vector(*w), unknown, vector(*f), unknown) for f, w in sensed],
        ),
    }
    with Writer(path, version=8) as writer:
        for topic, (name, times, values) in topics.items():
            kind = f"sensor_msgs/msg/{name}"
            connection = writer.add_connection(topic, kind, typestore=store)
            for at, row in zip(times, values, strict=True):
                stamp = begin + round(1e9 * at)
                clock = types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9))
                message = types[kind](types["std_msgs/msg/Header"](clock, ""), *row)
                writer.write(connection, stamp, store.serialize_cdr(message, kind))


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
