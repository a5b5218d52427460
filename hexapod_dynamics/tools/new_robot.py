"""ros2 run hexapod_dynamics new_robot: makes the file of a robot of your own, checks it and plans its gaits.

new_robot my_robot.yaml --urdf robot.urdf   from a URDF: legs are found; other chains become parts of the body
new_robot my_robot.yaml                     asks for masses, lengths, servos; answers in brackets are the JetHexa's
new_robot my_robot.yaml --check             checks an existing file, and makes its plans

The plans are written to plans_my_robot.yaml beside the file, where the launch finds them.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from hexapod_dynamics.process_environment import compute_in_one_thread
from hexapod_dynamics.tools.command_line import at_least, check_target, load_robot, make_parser, make_plans, run_command

if TYPE_CHECKING:
    from hexapod_dynamics.robot import Robot

COMMENTS = {
    "body": """SI units; angles in degrees where a key ends in _deg. base_link: x forward, y left, z up, in the
middle of the hips. mass: without legs. inertia: about the centre of mass (Ixx, Iyy, Izz, Ixy, Ixz, Iyz).
com: where that is.""",
    "imu": "CHECK: place and mounting of the IMU in base_link; `check_robot --only axes` finds rpy_deg.",
    "servo": """CHECK: stall torque [N m], no-load speed [rad/s] and resolution of your servos. Stiffness [N m/rad] and
damping [N m s/rad] are in the JetHexa's proportion to the torque: `identify` measures them.""",
    "contact": "Ground in simulation: stiffness [N/m], damping [N s/m], friction [N s/m].",
    "leg_modules": """A leg from the body outward: joints (axis and limits in the leg's mount frame: x outward, z up)
and links (mass, length, centre of mass and inertia in axes whose x runs along the link).""",
    "leg_order": "Counter-clockwise from the front left leg; `--missing` of all commands takes these names.",
    "legs": """CHECK servo_ids and servo_directions (coxa, femur, tibia) by `check_robot --only servos,directions,trim`,
with the robot on a box. servo_zeros_deg: what a servo reads, from its centre, at the joint's zero. Legs of one
tripod_group step together.""",
}


def main(args: list[str] | None = None) -> int:
    """Run the tool; exit code 0: all checks passed and the plans are made, 1: otherwise, 130: interrupted."""
    compute_in_one_thread()
    options = make_parser("new_robot", __doc__, whole=True)
    options.add_argument("file", type=Path, help="robot file to write (YAML)")
    options.add_argument("--urdf", type=Path, help="URDF to read the robot from (run xacro first)")
    options.add_argument("--check", action="store_true", help="the file is there: check it and make its plans")
    options.add_argument("--yes", action="store_true", help="without --urdf: take all answers in brackets")
    options.add_argument("--force", action="store_true", help="replace a file that is there")
    options.add_argument(
        "--most-lost", type=at_least(0), default=2, help="make plans for up to so many lost legs; default 2"
    )
    options.add_argument("--jobs", type=at_least(0), default=0, help="processes that plan; by default one a core")
    return run_command(options, _make, args)


def _make(given: argparse.Namespace) -> int:
    robot = load_robot(given.file) if given.check else _write_robot(given)
    if not _check_robot(robot):
        print(f"Correct {given.file}, then: ros2 run hexapod_dynamics new_robot {given.file} --check")
        return 1
    _plan(robot, given)
    print(
        f"It walks in simulation with:\n    ros2 launch hexapod_dynamics walk.launch.py view:=true robot:={given.file}"
    )
    return 0


def _write_robot(given: argparse.Namespace) -> Robot:
    """Make the robot, write its file and return the robot read from that file."""
    from hexapod_dynamics.robot.robot_file import robot_yaml

    check_target("file", given.file, force=given.force)
    robot, notes = _from_urdf(given) if given.urdf else _ask_robot(given)
    given.file.write_text(robot_yaml(robot, notes, COMMENTS), encoding="utf-8")
    print(f"{given.file}: {len(robot.legs)} legs, {', '.join(robot.leg_names)}")
    return load_robot(given.file)


def _from_urdf(given: argparse.Namespace) -> tuple[Robot, str]:
    from hexapod_dynamics.robot.urdf_legs import robot_of_urdf
    from hexapod_dynamics.tools.commissioning.asked_robot import servo_from_data_sheet

    robot, left_out = robot_of_urdf(given.urdf, given.file.stem)
    for joint, why in left_out.items():
        print(f"  no leg: {joint} ({why}); it is a rigid part of the body")
    servo = servo_from_data_sheet(robot.servo.torque_limit, robot.servo.speed_limit)
    fixed = f"\nRigid parts of the body: {', '.join(left_out)}." if left_out else ""
    return dataclasses.replace(robot, servo=servo), f"Made by new_robot from {given.urdf.name}.{fixed}"


def _ask_robot(given: argparse.Namespace) -> tuple[Robot, str]:
    from hexapod_dynamics.tools.commissioning.asked_robot import ask, list_defaults, make_robot_from_answers

    answers = list_defaults() if given.yes else ask(input, print)
    return make_robot_from_answers(
        answers, given.file.stem
    ), "Made by new_robot from its owner's numbers; links are taken for rods."


def _check_robot(robot: Robot) -> bool:
    """Print the findings on a robot's file; return whether all have passed."""
    from hexapod_dynamics.tools.commissioning.file_checks import check_robot_file
    from hexapod_dynamics.tools.commissioning.findings import all_passed

    findings = []
    for finding in check_robot_file(robot):
        findings.append(finding)
        print(finding.lines, flush=True)
    return all_passed(findings)


def _plan(robot: Robot, given: argparse.Namespace) -> None:
    """Make the plans of a robot beside its file, with a line for each."""
    path, most = given.file.resolve().parent / f"plans_{robot.name}.yaml", len(robot.legs) - 3
    count = make_plans(robot, path, jobs=given.jobs, most_lost=min(given.most_lost, max(0, most)))
    print(f"{path}: {count} plans; more by `ros2 run hexapod_dynamics plan`, or made while the robot sits")
