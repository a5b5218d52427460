"""Where a `Chain` can come from besides rows and screws: a URDF, a leg of a `Robot`.

The URDF is read by urdf_parser_py, ROS's own parser (rosdep urdfdom_py): its import takes 0.07 s and 14 MB, that
of yourdfpy 0.9 s and 124 MB, because of a mesh library. It is imported only when a URDF is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics import se3
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Link, Robot

if TYPE_CHECKING:
    from urdf_parser_py.urdf import Inertial as UrdfInertial
    from urdf_parser_py.urdf import Joint as UrdfJoint
    from urdf_parser_py.urdf import Pose as UrdfPose

REVOLUTE, PRISMATIC = "revolute", "prismatic"
KINDS = (REVOLUTE, PRISMATIC)
BASE = -1  # the parent of a body that is attached to the base

_URDF_KINDS = {"revolute": REVOLUTE, "continuous": REVOLUTE, "prismatic": PRISMATIC, "fixed": None}


def urdf_arguments(text: str | bytes) -> dict[str, Any]:
    """Arguments of `Chain` (gravity excepted) from the text of a URDF."""
    from urdf_parser_py.urdf import URDF

    try:
        urdf = URDF.from_xml_string(text.encode() if isinstance(text, str) else text)
    except Exception as error:  # the parser raises errors of lxml, assertions and its own errors
        raise DynamicsError(f"this is no URDF: {error}") from error
    links = {link.name: link for link in urdf.links}
    below: dict[str, list[UrdfJoint]] = {}  # joints by the name of their parent link
    above: dict[str, UrdfJoint] = {}  # joint by the name of its child link
    for joint in urdf.joints:
        _check_joint(joint, links, above)
        above[joint.child] = joint
        below.setdefault(joint.parent, []).append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) != 1:
        raise DynamicsError(f"a URDF has one root link, this one has {roots or 'none: its joints close a loop'}")

    bodies: list[dict[str, Any]] = []
    names: list[str] = []
    seen: set[str] = set()

    def descend(link: str, body: int, pose: se3.Array) -> None:
        seen.add(link)
        if body != BASE:
            bodies[body]["masses"].append((links[link].inertial, pose))
        for joint in below.get(link, ()):
            placement = pose @ _origin(joint.origin)
            kind = _URDF_KINDS[joint.type]
            if kind is None:
                descend(joint.child, body, placement)
                continue
            axis = np.array(joint.axis or (1.0, 0, 0), float)
            if not np.linalg.norm(axis) > 0:
                raise DynamicsError(f"joint {joint.name} has the axis {axis}, needed: a direction")
            axis = axis / np.linalg.norm(axis)
            screw = np.concatenate((np.zeros(3), axis) if kind == REVOLUTE else (axis, np.zeros(3)))
            bodies.append({"parent": body, "kind": kind, "placement": placement, "screw": screw, "masses": []})
            names.append(joint.name)
            descend(joint.child, len(bodies) - 1, np.eye(4))

    descend(roots[0], BASE, np.eye(4))
    if len(seen) != len(links):
        raise DynamicsError(f"links {sorted(set(links) - seen)} are not connected to {roots[0]}: a closed loop")
    masses, coms, inertias = zip(*(_weld(body["masses"]) for body in bodies), strict=True) if bodies else ((), (), ())
    return {
        "parents": tuple(body["parent"] for body in bodies),
        "kinds": tuple(body["kind"] for body in bodies),
        "placements": [body["placement"] for body in bodies],
        "screws": [body["screw"] for body in bodies],
        "masses": masses,
        "coms": coms,
        "inertias": inertias,
        "names": tuple(names),
    }


def _check_joint(joint: UrdfJoint, links: Mapping[str, object], above: Mapping[str, UrdfJoint]) -> None:
    if joint.type not in _URDF_KINDS:
        raise DynamicsError(f"joint {joint.name} is {joint.type!r}, allowed: {', '.join(_URDF_KINDS)}")
    if joint.mimic is not None:
        raise DynamicsError(f"joint {joint.name} mimics {joint.mimic.joint}: a chain needs independent joints")
    for end in (joint.parent, joint.child):
        if end not in links:
            raise DynamicsError(f"joint {joint.name} names the link {end!r}, known: {sorted(links)}")
    if joint.child in above:
        raise DynamicsError(
            f"link {joint.child} is attached to both {above[joint.child].name} and {joint.name}: a loop; "
            "cut one of them (see sensitivities.closed_loop)"
        )


def _origin(origin: UrdfPose | None) -> se3.Array:
    if origin is None:
        return np.eye(4)
    return se3.pose(se3.rotation_rpy(*(origin.rpy or (0.0, 0.0, 0.0))), origin.xyz or (0.0, 0.0, 0.0))


def _weld(parts: list[tuple[UrdfInertial | None, se3.Array]]) -> tuple[float, se3.Array, se3.Array]:
    """Mass, centre of mass and inertia about it of several inertials, each at a pose."""
    placed = []
    for inertial, pose in parts:
        if inertial is None:
            continue
        pose = pose @ _origin(inertial.origin)
        turn, inertia = pose[:3, :3], np.array(inertial.inertia.to_matrix())
        placed.append((inertial.mass, pose[:3, 3], turn @ inertia @ turn.T))
    return se3.combined_inertia(placed)


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
