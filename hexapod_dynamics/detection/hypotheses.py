"""Damage hypotheses, each a change of named values of the morphology."""

from __future__ import annotations

from hexapod_dynamics.damage import LIMP, LOCKED, MISSING, SHORT, Hypothesis
from hexapod_dynamics.robot import Robot


def missing(robot: Robot, leg: str, link: int) -> Hypothesis:
    """The leg is missing from link `link` (index) outward."""
    return MISSING.make_hypothesis(robot, robot.leg_names.index(leg), link)


def short(robot: Robot, leg: str, fraction: float) -> Hypothesis:
    """The last link of the leg is broken off at a fraction of its length, its servo still answers."""
    return SHORT.make_hypothesis(robot, robot.leg_names.index(leg), fraction)


def limp(robot: Robot, joint: int) -> Hypothesis:
    """The servo of the joint (index) gives no torque."""
    return LIMP.make_hypothesis(robot, *place_of(robot, joint))


def locked(robot: Robot, joint: int, angle: float) -> Hypothesis:
    """The joint (index) is stuck at an angle [rad]."""
    return LOCKED.make_hypothesis(robot, *place_of(robot, joint), angle)


def place_of(robot: Robot, joint: int) -> tuple[int, int]:
    """Index of the leg, and of the link in it, of a joint index."""
    for index, leg in enumerate(robot.legs):
        joints = robot.leg_joints(leg.name)
        if joint in joints:
            return index, joint - joints.start
    raise IndexError(joint)


def part_of(robot: Robot, joint: int) -> str:
    """Name of the part ("RM.femur") that a joint index moves."""
    index, link = place_of(robot, joint)
    leg = robot.legs[index]
    return f"{leg.name}.{leg.link_names[link]}"
