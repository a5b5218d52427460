"""A robot read from URDF: any body with serial legs.

A link on a fixed joint is merged into its parent. Legs are the chains that are attached to the body: all of them,
or those that are named by their first joints. base_link is moved to the body's centre of mass, where gaits expect
it, unless keep_frame is set. Rotor inertias are read from <transmission> elements with Drake's names, times the
gear ratio squared. A link's x axis is along the link, from its joint to the next one (for the last link: to its
outermost fixed frame, such as a foot, else through its centre of mass). Contents that a robot cannot have are
refused or named (urdf_checks.py). Values that URDF does not contain (stiffness of servos, contact, IMU) are
arguments; by default those of the JetHexa.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import DRAKE, Body, Contact, Imu, Joint, Link, Servo
from hexapod_dynamics.robot.urdf_checks import check_elements, check_legs, leg_names
from hexapod_dynamics.robot.urdf_tree import (
    UrdfPart,
    all_parts,
    origin_of,
    read_numbers,
    read_root,
    read_text,
    read_tree,
)
from hexapod_dynamics.se3 import combined_inertia, rotation_x_to

MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
TURN = math.pi  # [rad or m] limits of a joint whose limits in the file are both 0; a continuous joint has none
DEEPEST = 100  # most consecutive joints, because the functions that read them are recursive
MassProperties = tuple[float, np.ndarray, np.ndarray]  # mass, centre of mass, inertia about it
Branch = tuple[np.ndarray, np.ndarray, UrdfPart]  # rotation, position, moving part
NOTHING: MassProperties = (0.0, np.zeros(3), np.zeros((3, 3)))


def robot_arguments(
    text_or_path: str | os.PathLike,
    legs: Mapping[str, str] | None,
    servo: Servo | None,
    contact: Contact | None,
    imu: Imu | None,
    gravity: float,
    keep_frame: bool,
) -> dict[str, Any]:
    """Return the fields of the Robot that a URDF text or file describes; see Robot.from_urdf. RobotError."""
    root = read_root(read_text(text_or_path))
    check_elements(root)
    base = read_tree(root)
    _check_depth(base)
    inertia, branches, _ = _merged(base)
    if inertia[0] <= 0:
        raise RobotError(f"link {base.name}: no mass; the body needs an inertial element with a mass above 0")
    origin, com = (np.zeros(3), inertia[1]) if keep_frame else (inertia[1], np.zeros(3))
    rotors = _rotor_inertias(root)
    chosen = _choose(legs, branches)
    limits = [part.joint.find("limit") for _, _, part in chosen.values()]
    made = tuple(
        Leg(**_leg(name, pose_r, pose_p - origin, part, 1 + index % 2, rotors))
        for index, (name, (pose_r, pose_p, part)) in enumerate(chosen.items())
    )
    return {
        "name": root.get("name") or "robot",
        "gravity": gravity,
        "body": Body(inertia[0], inertia[2], _box(root, base.name, made), com),
        "legs": made,
        "servo": servo or _servo(limits),
        "contact": contact or Contact(10000.0, 150.0, 50.0),
        "imu": imu or Imu(np.zeros(3), np.eye(3)),
    }


def _check_depth(base: UrdfPart) -> None:
    """Raise RobotError if too many joints follow each other."""
    for part in all_parts(base):
        if part.depth > DEEPEST:
            raise RobotError(
                f"URDF: link {part.name[:60]} is more than {DEEPEST} joints from the body {base.name[:60]}"
            )


def _merged(part: UrdfPart) -> tuple[MassProperties, list[Branch], list[np.ndarray]]:
    """Return the mass properties of a link with everything fixed to it, (rotation, position, part) of each moving
    part on it, and the positions of the frames that are fixed to it.
    """
    pieces, branches, frames = [_inertial(part.element, part.name)], [], []
    for child in part.children:
        rotation, position = origin_of(child.joint)
        kind = child.joint.get("type")
        if kind == "fixed":
            (mass, com, inertia), inner, inner_frames = _merged(child)
            pieces.append((mass, position + rotation @ com, rotation @ inertia @ rotation.T))
            branches += [(rotation @ r, position + rotation @ p, moving) for r, p, moving in inner]
            frames += [position, *(position + rotation @ frame for frame in inner_frames)]
        elif kind in MOVING:
            branches.append((rotation, position, child))
        else:
            allowed = ", ".join((*MOVING, "fixed"))
            raise RobotError(f"joint {child.joint.get('name')}: type {kind!r}, allowed are {allowed}")
    return combined_inertia(pieces), branches, frames


def _choose(legs: Mapping[str, str] | None, branches: list[Branch]) -> dict[str, Branch]:
    """Return the legs by name: the requested ones (name -> first joint), or all, named by the part in which their
    joints' names differ.
    """
    by_joint = {part.joint.get("name", ""): (rotation, position, part) for rotation, position, part in branches}
    if legs is None:
        if not by_joint:
            raise RobotError("URDF: no moving joint is attached to the body, so there are no legs")
        check_legs({joint: _chain_length(part) for joint, (_, _, part) in by_joint.items()})
        return dict(zip(leg_names(list(by_joint)), by_joint.values(), strict=True))
    if not isinstance(legs, Mapping):
        raise RobotError(f"legs: {legs!r} given, a dict {{leg name: name of its first joint}} needed")
    chosen = {}
    for leg, joint in legs.items():
        if joint not in by_joint:
            raise RobotError(f"legs.{leg}: no joint {joint!r} on the body; there are {', '.join(by_joint)}")
        chosen[leg] = by_joint[joint]
    left = [joint for joint in by_joint if joint not in set(legs.values())]
    if left:
        raise RobotError(
            f"legs: joints {', '.join(left)} are attached to the body, too, and belong to no leg; name them all, "
            'or make what is no leg type="fixed": it then belongs to the body'
        )
    return chosen


def _chain_length(part: UrdfPart) -> int:
    """Return the largest number of consecutive moving joints from a part on, including its own."""
    longest = max((_chain_length(child) for child in part.children), default=0)
    return longest + (part.joint.get("type") in MOVING)


def _leg(
    name: str,
    rotation: np.ndarray,
    position: np.ndarray,
    part: UrdfPart,
    group: int,
    rotors: dict[str | None, float],
) -> dict[str, Any]:
    joints, links = [], []
    turn, place = np.eye(3), np.zeros(3)  # mount frame <- the link's own frame at zero
    while True:
        (mass, com, inertia), branches, frames = _merged(part)
        label = part.name
        if len(branches) > 1:
            names = ", ".join(child.joint.get("name", "") for _, _, child in branches)
            raise RobotError(f"leg {name}: link {label} carries {names}; a leg is one chain of single joints")
        if mass <= 0:
            raise RobotError(f"leg {name}: link {label} moves and has no mass; give it an inertial element")
        end = branches[0][1] if branches else _end(com, frames)
        length = float(np.linalg.norm(end))
        axes = rotation_x_to(end / length) if length > 1e-9 else np.eye(3)
        try:
            links.append(Link(_own(label, name), mass, length, axes.T @ com, axes.T @ inertia @ axes, turn @ axes))
        except RobotError as error:
            raise RobotError(f"leg {name}, {label}: {error}") from None
        joints.append(_joint(part.joint, turn, place, rotors))
        if not branches:
            break
        r, p, part = branches[0]
        turn, place = turn @ r, place + turn @ p
    return {
        "name": name,
        "mount_rotation": rotation,
        "mount_position": position,
        "joints": tuple(joints),
        "links": tuple(links),
        "tripod_group": group,
        "module": "urdf",
    }


def _end(com: np.ndarray, frames: list[np.ndarray]) -> np.ndarray:
    """Return the end of a leg's last link: its outermost fixed frame, else the point at twice the distance of its
    centre of mass.
    """
    if frames:
        farthest = max(frames, key=np.linalg.norm)
        if np.linalg.norm(farthest) > 1e-9:
            return farthest
    return 2.0 * com


def _own(link: str, leg: str) -> str:
    """Return the link's name without that of its leg: tibia_link_LF -> tibia, LF_tibia -> tibia."""
    if link.startswith(f"{leg}_") and len(link) > len(leg) + 1:
        link = link[len(leg) + 1 :]
    for ending in (f"_link_{leg}", f"_{leg}"):
        if link.endswith(ending) and len(link) > len(ending):
            link = link[: -len(ending)]
    return link.replace(".", "_")


def _rotor_inertias(root: ET.Element) -> dict[str | None, float]:
    """Return the reflected rotor inertia of each joint: drake:rotor_inertia times drake:gear_ratio squared."""
    found: dict[str | None, float] = {}
    for transmission in root.findall("transmission"):
        joint = transmission.find("joint")
        for actuator in transmission.findall("actuator"):
            rotor, gear = (actuator.find(f"{{{DRAKE}}}{name}") for name in ("rotor_inertia", "gear_ratio"))
            if joint is not None and rotor is not None:
                name = joint.get("name")
                of_rotor = read_numbers(rotor.get("value"), 1, f"joint {name}: drake:rotor_inertia")[0]
                ratio = (
                    1.0 if gear is None else read_numbers(gear.get("value"), 1, f"joint {name}: drake:gear_ratio")[0]
                )
                found[name] = float(of_rotor * ratio**2)
    return found


def _joint(element: ET.Element, turn: np.ndarray, place: np.ndarray, rotors: dict[str | None, float]) -> Joint:
    name, kind = element.get("name", ""), element.get("type", "")
    axis = element.find("axis")
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else read_numbers(axis.get("xyz"), 3, f"joint {name}: axis")
    lower, upper = -math.inf, math.inf
    if kind != "continuous":
        limit = element.find("limit")
        if limit is None:
            raise RobotError(f"joint {name}: a {kind} joint needs a <limit> with lower and upper")
        lower, upper = (
            float(read_numbers(limit.get(side, "0"), 1, f"joint {name}: {side}")[0]) for side in ("lower", "upper")
        )
        if lower == upper == 0.0:  # exporters write this for a joint without limits
            lower, upper = -TURN, TURN
    rotor = rotors.get(name, 0.0)
    return Joint(name, MOVING[kind], turn @ direction, place, lower, upper, rotor_inertia=rotor)


def _servo(limits: list[ET.Element | None]) -> Servo:
    known = [limit for limit in limits if limit is not None]
    effort = [float(limit.get("effort", 0)) for limit in known]
    speed = [float(limit.get("velocity", 0)) for limit in known]
    return Servo(30.0, 0.3, max(effort, default=0) or 3.43, max(speed, default=0) or 5.82, math.radians(0.24))


def _box(root: ET.Element, base: str, legs: tuple[Leg, ...]) -> np.ndarray:
    """Return the size of the body: its own box, else the extent of its hips."""
    for kind in ("collision", "visual"):
        for shape in root.findall(f"link[@name='{base}']/{kind}/geometry/box"):
            return read_numbers(shape.get("size"), 3, f"link {base}: box")
    hips = np.array([leg.mount_position for leg in legs])
    return np.maximum(np.ptp(hips, axis=0), 0.01)


def _inertial(element: ET.Element, name: str) -> MassProperties:
    inertial = element.find("inertial")
    if inertial is None:
        return NOTHING
    mass, moments = inertial.find("mass"), inertial.find("inertia")
    if mass is None or moments is None:
        raise RobotError(f"link {name}: its <inertial> needs <mass> and <inertia>")
    rotation, com = origin_of(inertial)
    ixx, iyy, izz, ixy, ixz, iyz = (
        float(read_numbers(moments.get(key, "0"), 1, f"link {name}: {key}")[0])
        for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    )
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return float(read_numbers(mass.get("value"), 1, f"link {name}: mass")[0]), com, rotation @ inertia @ rotation.T
