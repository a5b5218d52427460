"""Identifies a robot from a bag: `ros2 run hexapod_dynamics identify BAG --robot R --weight 2.51 --out my_robot.yaml`.

The bag has `joint_commands`, `servos/measurements` (or `joint_states`) and `imu/data_raw` (or `imu/data`) of a
suspended and of a standing exercise, in one bag or two (docs/identify.md). `--exercise suspended` or `--exercise
standing` writes the exercise as a table of times and targets, for the program that commands the robot.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np

from hexapod_dynamics.errors import HexapodError, IdentificationError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools.command_line import check_folder, check_target, load_robot, make_parser, run_command


def main(args: list[str] | None = None) -> int:
    """Run the tool; return its exit code."""
    options = make_parser("identify", __doc__)
    options.add_argument("bag", nargs="*", type=Path, help="rosbag2 folders")
    options.add_argument("--robot", type=Path, help="robot file to start from; default: the JetHexa's")
    options.add_argument("--weight", type=float, metavar="KG", help="the robot's mass on a scale, with its battery")
    options.add_argument("--out", type=Path, help="robot file to write")
    options.add_argument("--force", action="store_true", help="replace a robot file that is there")
    options.add_argument("--report", type=Path, help="picture to write; default: beside --out, with the ending .png")
    options.add_argument("--exercise", choices=("suspended", "standing"), help="write this exercise as CSV to --out")
    return run_command(options, lambda given: _exercise(given) if given.exercise else _identify(given), args)


def _exercise(given: argparse.Namespace) -> int:
    from hexapod_dynamics.identification import standing_exercise, suspended_exercise

    robot = load_robot(given.robot)
    if given.out is None:
        raise IdentificationError("--exercise: --out FILE.csv needed, the file to which it is written")
    check_folder("--out", given.out, "table")
    exercise = (suspended_exercise if given.exercise == "suspended" else standing_exercise)(robot)
    head = ",".join(("time", *robot.joint_names))
    np.savetxt(given.out, np.column_stack([exercise.time, exercise.targets]), "%.5f", ",", header=head, comments="")
    print(f"{len(exercise.time)} targets over {exercise.time[-1]:.0f} s: {given.out}")
    return 0


def _identify(given: argparse.Namespace) -> int:
    from hexapod_dynamics.identification import identify, robot_yaml
    from hexapod_dynamics.identification.bag import read_bag
    from hexapod_dynamics.identification.exercise import split_exercises
    from hexapod_dynamics.identification.identify import draw_report, format_table

    if not given.bag:
        raise IdentificationError("no bag given; see docs/identify.md")
    if given.weight is not None and not 0.0 < given.weight < 1e3:
        raise IdentificationError(f"--weight: {given.weight} given, kilograms above 0 needed")
    if given.out is not None:
        check_target("--out", given.out, force=given.force)
    check_folder("--report", given.report, "picture")
    robot = load_robot(given.robot)
    suspended = standing = None
    for bag in given.bag:
        hanging, stood = split_exercises(robot, read_bag(bag, robot))
        suspended, standing = suspended or hanging, standing or stood
    for name, part in (("suspended", suspended), ("standing", standing)):
        if part is None:
            print(f"no {name} exercise in {', '.join(map(str, given.bag))}: what it shows stays as it is")
    result = identify(robot, suspended, standing, weighed=given.weight)
    print(format_table(result.findings))
    if given.out is not None:
        notes = (
            f"Identified from {', '.join(bag.name for bag in given.bag)}. Values, standard deviations, values before:\n"
        )
        # so that the plans of the previous robot are not used for it
        named = dataclasses.replace(result.robot, name=given.out.stem)
        given.out.write_text(robot_yaml(named, notes + format_table(result.findings)), encoding="utf-8")
        print(given.out)
        transfer_plans(robot, given.out)
    picture = given.report or (given.out.with_suffix(".png") if given.out is not None else None)
    if picture is not None:
        draw_report(robot, result, picture)
        print(picture)
    return 0


def transfer_plans(robot: Robot, identified: Path) -> None:
    """Write the robot's plans and manoeuvres, as far as they are valid for the identified robot, beside its file."""
    from hexapod_dynamics.gait.planning.library import PlanLibrary
    from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
    from hexapod_dynamics.identification.transfer import transfer_library, transfer_manoeuvres

    own = Robot.load(identified)
    try:
        library = PlanLibrary.load_for_robot(robot)
        plans, left = transfer_library(library, own)
    except HexapodError as error:
        print(f"no plans are taken over: {error}")
        print(f"  plans of its own: `ros2 run hexapod_dynamics plan --robot {identified}`")
        return
    if len(library):
        path = identified.with_name(f"plans_{own.name}.yaml")
        plans.save(path)
        print(f"{path}: {len(plans)} of {len(plans) + len(left)} plans of {robot.name}")
        if left:
            print(f"  none without {', without '.join(' '.join(lost) for lost in left)}")
            print(f"  plans of its own: `ros2 run hexapod_dynamics plan --robot {identified} --out {path}`")
    try:
        manoeuvres = GetUpLibrary.load_for_robot(robot)
        if not list(manoeuvres):
            return
        found = transfer_manoeuvres(manoeuvres, own)
    except HexapodError as error:
        print(f"it does not get up after a fall: {error}")
        print(f"  ways of its own: `ros2 run hexapod_dynamics plan --get-up --robot {identified}`")
        return
    path = identified.with_name(f"get_up_{own.name}.yaml")
    found.save(path)
    print(f"{path}: {len(list(found))} ways to get up after a fall")
