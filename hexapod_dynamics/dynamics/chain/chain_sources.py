"""Where a `Chain` can come from besides rows and screws: a URDF, a leg of a `Robot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics import se3
from hexapod_dynamics.errors import DynamicsError, RobotError
from hexapod_dynamics.robot import Link, Robot
from hexapod_dynamics.robot.model_tree import MassProperties, TreeJoint, TreeLink, carried, mass_properties, rigid_parts
from hexapod_dynamics.robot.urdf_reading import read_inertial, read_root, read_tree

REVOLUTE, PRISMATIC = "revolute", "prismatic"
KINDS = (REVOLUTE, PRISMATIC)
BASE = -1  # the parent of a body that is attached to the base


def urdf_arguments(text: str) -> dict[str, Any]:
    """Arguments of `Chain` (gravity excepted) from the text of a URDF, bodies in the order of their joints from the
    root outward; DynamicsError for what is no tree of revolute and prismatic joints.
    """
    try:
        base = read_tree(read_root(text))
        for link in base.below():
            read_inertial(link)
    except RobotError as error:
        raise DynamicsError(f"this is no URDF of a chain: {error}") from error
    parents: list[int] = []
    placements: list[se3.Array] = []
    joints: list[TreeJoint] = []
    masses: list[MassProperties] = []

    def add(link: TreeLink, body: int) -> None:
        for turn, place, child in rigid_parts(link)[1]:
            parents.append(body)
            placements.append(se3.pose(turn, place))
            joints.append(carried(child))
            masses.append(mass_properties(rigid_parts(child)[0]))
            add(child, len(parents) - 1)

    add(base, BASE)
    return {
        "parents": tuple(parents),
        "kinds": tuple(joint.kind for joint in joints),
        "placements": placements,
        "screws": [_screw(joint) for joint in joints],
        "masses": [mass for mass, _, _ in masses],
        "coms": [com for _, com, _ in masses],
        "inertias": [inertia for _, _, inertia in masses],
        "names": tuple(joint.name for joint in joints),
    }


def _screw(joint: TreeJoint) -> se3.Array:
    """Return the screw (v, w) of a joint in its body's frame. Raises DynamicsError."""
    if joint.kind not in KINDS:
        raise DynamicsError(f"joint {joint.name} is {joint.kind!r}, allowed: {', '.join(KINDS)}, continuous, fixed")
    mimic = joint.element.find("mimic")
    if mimic is not None:
        raise DynamicsError(f"joint {joint.name} mimics {mimic.get('joint')}: a chain needs independent joints")
    length = np.linalg.norm(joint.axis)
    if not length > 0.0:
        raise DynamicsError(f"joint {joint.name} has the axis {joint.axis}, needed: a direction")
    axis = joint.axis / length
    return np.concatenate((np.zeros(3), axis) if joint.kind == REVOLUTE else (axis, np.zeros(3)))


def leg_arguments(robot: Robot, name: str, links: Sequence[Link], gravity: npt.ArrayLike | None) -> dict[str, Any]:
    """Arguments of `Chain` from a leg of a robot: frames at the links' centres of mass, base axes those of the body."""
    leg = robot.leg(name)
    joints = leg.joints[: len(links)]
    for joint in joints:
        if joint.kind not in (REVOLUTE, PRISMATIC):
            raise DynamicsError(f"joint {joint.name} is {joint.kind}, a chain has {REVOLUTE} and {PRISMATIC} joints")
    mount = se3.pose(leg.mount_rotation, leg.mount_position)
    poses = [
        mount @ se3.pose(np.eye(3), joint.origin + link.com_in_leg) for joint, link in zip(joints, links, strict=True)
    ]
    placements = [poses[0]] + [se3.inverse(before) @ pose for before, pose in zip(poses, poses[1:], strict=False)]
    screws = [se3.Ad(se3.inverse(pose) @ mount) @ joint.screw for pose, joint in zip(poses, joints, strict=True)]
    return {
        "parents": tuple(range(-1, len(joints) - 1)),
        "kinds": tuple(joint.kind for joint in joints),
        "placements": placements,
        "screws": screws,
        "masses": [link.mass for link in links],
        "coms": np.zeros((len(links), 3)),
        "inertias": [link.inertia_in_leg for link in links],
        "gravity": (0, 0, -robot.gravity) if gravity is None else gravity,
        "names": tuple(joint.name for joint in joints),
    }
