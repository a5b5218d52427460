"""Finds the legs of a URDF by their structure; other chains on the body (pan heads, arms, masts) become fixed
parts of it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.standard_legs import standard_leg, standard_robot
from hexapod_dynamics.robot.urdf_checks import leg_names
from hexapod_dynamics.robot.urdf_tree import UrdfPart, all_parts, read_root, read_text, read_tree

ALIKE = 0.15  # relative difference of lengths up to which legs count as equal
FEWEST = 3


def robot_of_urdf(text_or_path: Any, name: str) -> tuple[Robot, dict[str, str]]:
    """Return a Robot as gaits expect it (`standard_robot`), and {first joint: reason} for the chains that are not
    legs and were fixed.

    Legs are the largest group of chains on the body that have a coxa, a femur and a tibia of equal lengths.
    RobotError if there are fewer than three such chains, with the reasons for the others, and if Robot.from_urdf
    refuses the URDF.
    """
    text = read_text(text_or_path)
    chains = _chains(text)
    left_out = {joint: f"{count} moving joints, no leg of three" for joint, count in chains.items() if count != 3}
    legs: dict[str, Leg] = {}
    candidates = [joint for joint, count in chains.items() if count == 3]
    if candidates:
        robot = _read(text, left_out, candidates)
        for joint, leg in zip(candidates, robot.legs, strict=True):
            try:
                legs[joint] = standard_leg(leg)
            except RobotError as error:
                left_out[joint] = str(error)
    kind = _largest_group(legs)
    left_out |= {joint: "its links are of other lengths than the legs'" for joint in legs if joint not in kind}
    if len(kind) < FEWEST:
        reasons = "; ".join(f"{joint}: {why}" for joint, why in left_out.items()) or "no moving joint is on the body"
        raise RobotError(f"URDF: {len(kind)} legs found, at least {FEWEST} needed: {reasons}")
    robot = _read(text, left_out, kind)
    return standard_robot(robot, [standard_leg(leg) for leg in robot.legs], name), left_out


def _read(text: str, fixed: dict[str, str], first_joints: list[str]) -> Robot:
    """Read a URDF with the chains that begin with these joints as legs, those of `fixed` as parts of the body."""
    names = dict(zip(leg_names(first_joints), first_joints, strict=True))
    return Robot.from_urdf(_with_fixed(text, list(fixed)), names, keep_frame=True)


def _on_body(part: UrdfPart) -> Iterator[UrdfPart]:
    """Yield the moving parts that are attached to a part or to a part fixed to it."""
    for child in part.children:
        if child.joint.get("type") == "fixed":
            yield from _on_body(child)
        else:
            yield child


def _chains(text: str) -> dict[str, int]:
    """Return {first joint: number of moving joints, 0 if the chain forks} of the chains on the body."""
    base = read_tree(read_root(text))
    all_parts(base)
    found = {}
    for part in _on_body(base):
        count, end = 1, list(_on_body(part))
        while len(end) == 1:
            count, end = count + 1, list(_on_body(end[0]))
        found[part.joint.get("name", "")] = 0 if end else count
    return found


def _with_fixed(text: str, first_joints: list[str]) -> str:
    """Return the text of a URDF in which all joints of these chains are fixed at their zeros."""
    root = read_root(text)
    for part in _on_body(read_tree(root)):
        if part.joint.get("name") in first_joints:
            for below in all_parts(part):
                below.joint.set("type", "fixed")
    return ET.tostring(root, encoding="unicode")


def _largest_group(legs: dict[str, Leg]) -> list[str]:
    """Return the first joints of the largest group of legs whose links have equal lengths."""
    lengths = {joint: np.array([link.length for link in leg.links]) for joint, leg in legs.items()}
    groups = [
        [joint for joint, other in lengths.items() if np.allclose(other, of_one, rtol=ALIKE)]
        for of_one in lengths.values()
    ]
    return max(groups, key=len, default=[])
