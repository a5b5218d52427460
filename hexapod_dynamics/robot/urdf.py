"""Writes a robot with a morphology as URDF: frames, inertias, limits and simple shapes for display.

The frames are those of robot/link_tree.py. A missing link is left out, a broken link has its remaining length, a
locked joint is fixed at its angle. Links behind damaged joints have the colours of the kinds of damage
(`hexapod_dynamics.damage`).
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import urdf_shapes
from hexapod_dynamics.robot.link_tree import Branch, branches
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import DRAKE, Joint
from hexapod_dynamics.robot.xml_text import as_text, checked_text
from hexapod_dynamics.se3 import roll_pitch_yaw

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

ET.register_namespace("drake", DRAKE)


def to_urdf(robot: Robot, morphology: Morphology | None = None) -> str:
    """Return the URDF text of the robot with `morphology` (None: intact).

    Numbers are written with all their digits, so a reader gets the robot's own masses, inertias and lengths. Rotor
    inertias are in <transmission> elements with Drake's names (drake:rotor_inertia); Pinocchio ignores them. A
    joint without limits is "continuous". RobotError for what URDF does not have: a helical joint, a joint with a
    limit on one side only, a name that XML cannot have.
    """
    root = ET.Element("robot", name=robot.name)
    tree = branches(robot, morphology)
    moving = [b.joint for b in tree if b.joint is not None and b.lock is None]
    for name, rgba in urdf_shapes.colours().items():
        ET.SubElement(ET.SubElement(root, "material", name=name), "color", rgba=rgba)
    body = ET.SubElement(root, "link", name="base_link")
    write_inertial(body, robot.body.mass, robot.body.com, robot.body.inertia)
    urdf_shapes.body(body, robot)
    for branch in tree:
        _joint(root, robot, branch)
        element = ET.SubElement(root, "link", name=branch.child)
        if branch.link is not None:
            write_inertial(element, branch.link.mass, branch.link.com, branch.link.inertia)
            urdf_shapes.link(element, branch)
    for joint in moving:
        if joint.rotor_inertia:
            _transmission(root, joint)
    for element in root.iter():
        for value in element.attrib.values():
            checked_text(value)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _joint(root: ET.Element, robot: Robot, branch: Branch) -> None:
    joint, pose = branch.joint, branch.at_zero
    if joint is not None and joint.kind == "helical":
        raise RobotError(f"joint {joint.name}: URDF has no helical joint; revolute and prismatic joints can be written")
    moves = joint is not None and branch.lock is None
    name = joint.name if joint is not None else f"foot_joint_{branch.leg}"
    element = ET.SubElement(root, "joint", name=name, type=_kind(joint) if moves and joint else "fixed")
    ET.SubElement(element, "origin", xyz=as_text(pose[:3, 3]), rpy=as_text(roll_pitch_yaw(pose[:3, :3])))
    ET.SubElement(element, "parent", link=branch.parent)
    ET.SubElement(element, "child", link=branch.child)
    if moves and joint is not None:
        ET.SubElement(element, "axis", xyz=as_text(branch.axis))
        bounds = {"lower": joint.lower, "upper": joint.upper} if element.get("type") != "continuous" else {}
        bounds |= {"effort": robot.servo.torque_limit, "velocity": robot.servo.speed_limit}
        ET.SubElement(element, "limit", {name: repr(float(value)) for name, value in bounds.items()})


def _kind(joint: Joint) -> str:
    """Return the type of a moving joint in URDF: "continuous" if it has no limits."""
    if math.isfinite(joint.lower) and math.isfinite(joint.upper):
        return joint.kind
    if joint.kind != "revolute" or math.isfinite(joint.lower) or math.isfinite(joint.upper):
        raise RobotError(
            f"joint {joint.name}: limits {joint.lower} to {joint.upper}; in URDF only a revolute joint can be without "
            "limits, and then without both"
        )
    return "continuous"


def _transmission(root: ET.Element, joint: Joint) -> None:
    """Write a motor's rotor inertia in the form that Drake reads (URDF itself has none): at the joint, gear ratio
    1.
    """
    element = ET.SubElement(root, "transmission", name=f"{joint.name}_transmission")
    ET.SubElement(element, "type").text = "transmission_interface/SimpleTransmission"
    ET.SubElement(element, "joint", name=joint.name)
    actuator = ET.SubElement(element, "actuator", name=f"{joint.name}_motor")
    ET.SubElement(actuator, f"{{{DRAKE}}}gear_ratio", value="1.0")
    ET.SubElement(actuator, f"{{{DRAKE}}}rotor_inertia", value=repr(float(joint.rotor_inertia)))


def write_inertial(link: ET.Element, mass: float, com: np.ndarray, inertia: np.ndarray) -> None:
    """Write mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it [kg m^2] to a link."""
    element = ET.SubElement(link, "inertial")
    ET.SubElement(element, "origin", xyz=as_text(com), rpy="0 0 0")
    ET.SubElement(element, "mass", value=repr(float(mass)))
    places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    ET.SubElement(element, "inertia", {name: repr(float(inertia[place])) for name, place in places.items()})
