"""Damage hypotheses: a name for people, and the request to `set_morphology` that declares the damage."""

from __future__ import annotations

from typing import NamedTuple

from hexapod_dynamics.damage.kind import Value
from hexapod_dynamics.robot import Robot


class Hypothesis(NamedTuple):
    """One explanation: name ("RM missing"), values of `set_morphology` by their names."""

    name: str
    values: dict[str, Value]


def missing(robot: Robot, leg: str, link: int) -> Hypothesis:
    """The leg is missing from link `link` (index) outward."""
    link_name = robot.legs[robot.leg_names.index(leg)].link_names[link]
    key, part = (f"legs.{leg}", leg) if link == 0 else (f"links.{leg}.{link_name}", f"{leg}.{link_name}")
    return Hypothesis(f"{part} missing", {key: False})


def short(robot: Robot, leg: str, fraction: float) -> Hypothesis:
    """The last link of the leg is broken off at a fraction of its length, its servo still answers."""
    part = f"{leg}.{robot.legs[robot.leg_names.index(leg)].link_names[-1]}"
    return Hypothesis(f"{part} broken off, {fraction:.0%} left", {f"remaining.{part}": fraction})


def limp(robot: Robot, joint: int) -> Hypothesis:
    """The servo of the joint (index) gives no torque."""
    part = robot.part_names[joint]
    return Hypothesis(f"{part} limp", {f"limp.{part}": True})


def locked(robot: Robot, joint: int, angle: float) -> Hypothesis:
    """The joint (index) is stuck at an angle [rad]."""
    part = robot.part_names[joint]
    values = {f"locked.{part}": True, f"locked_at.{part}": float(angle)}
    return Hypothesis(f"{part} locked at {angle:.2f} rad", values)
