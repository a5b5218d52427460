"""Writes a robot with a morphology as URDF: frames, inertias, limits and simple shapes for display.

The frames are those of robot/link_tree.py. A missing link is left out, a broken link has its remaining length, a
locked joint is fixed at its angle. Shapes are primitive, with a JetHexa's proportions: a body of two plates, brackets,
servos and feet; links behind damaged joints have the colours of the kinds of damage (`hexapod_dynamics.damage`).
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.link_tree import Branch, branches
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import DRAKE, Joint
from hexapod_dynamics.se3 import roll_pitch_yaw

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

ET.register_namespace("drake", DRAKE)
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLOURS = {
    "plate": "0.16 0.17 0.20 1",
    "board": "0.10 0.45 0.25 1",
    "servo": "0.10 0.10 0.12 1",
    "bracket": "0.62 0.65 0.70 1",
    "foot": "0.95 0.55 0.10 1",
}
FOOT_RADIUS = 0.008  # [m]
SERVO = (0.040, 0.020, 0.036)  # [m] an HTD-35H class servo: 54 x 20 x 48 mm with its horn and lugs


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
    for name, rgba in (COLOURS | {kind.name: kind.colour for kind in KINDS.joint_kinds}).items():
        ET.SubElement(ET.SubElement(root, "material", name=name), "color", rgba=rgba)
    body = ET.SubElement(root, "link", name="base_link")
    write_inertial(body, robot.body.mass, robot.body.com, robot.body.inertia)
    _draw_body(body, robot)
    for branch in tree:
        _joint(root, robot, branch)
        element = ET.SubElement(root, "link", name=branch.child)
        if branch.link is not None:
            write_inertial(element, branch.link.mass, branch.link.com, branch.link.inertia)
            _draw_link(element, branch)
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


def checked_text(text: str) -> str:
    """Return the text; RobotError if it has a character that XML cannot contain, such as a control character."""
    if NOT_IN_XML.search(text):
        raise RobotError(f"name {text!r}: it has a character that XML cannot have; rename it")
    return text


def as_text(values: Iterable[float]) -> str:
    """Return numbers with all their digits, separated by blanks; -0.0 as 0.0."""
    return " ".join(repr(float(value) + 0.0) for value in values)


# ---- shapes ----------------------------------------------------------------------------------------------------


def _draw_body(element: ET.Element, robot: Robot) -> None:
    """Write two plates, the computer between and above them, a servo at each hip; the collision shape is the
    body's box.
    """
    length, width, height = robot.body.box
    for z in (-0.5 * height, 0.5 * height):
        _box(element, (length, width, 0.004), (0.0, 0.0, z), "plate")
    _box(element, (0.55 * length, 0.8 * width, 0.6 * height), (0.0, 0.0, 0.0), "servo")
    _box(element, (0.40 * length, 0.75 * width, 0.012), (0.0, 0.0, 0.5 * height + 0.015), "board")
    _box(element, (0.02, 0.5 * width, 0.02), (0.48 * length, 0.0, 0.5 * height + 0.012), "bracket")
    for leg in robot.legs:
        hip = np.asarray(leg.mount_position, float)
        inward = hip - 0.35 * SERVO[0] * leg.mount_rotation[:, 0]
        yaw = float(np.arctan2(leg.mount_rotation[1, 0], leg.mount_rotation[0, 0]))
        _box(element, SERVO, inward, "servo", yaw)
        arm = np.array([0.6 * hip[0], 0.0, 0.0])
        middle, reach = 0.5 * (arm + hip), float(np.linalg.norm((hip - arm)[:2]))
        angle = float(np.arctan2(hip[1] - arm[1], hip[0] - arm[0]))
        for z in (-0.5 * height, 0.5 * height):
            _box(element, (reach, 0.03, 0.004), (middle[0], middle[1], z), "plate", angle)
    collision = ET.SubElement(element, "collision")
    ET.SubElement(collision, "origin", xyz="0 0 0", rpy="0 0 0")
    ET.SubElement(ET.SubElement(collision, "geometry"), "box", size=f"{length} {width} {height}")


def _draw_link(element: ET.Element, branch: Branch) -> None:
    """Write a bracket with the next servo at its end, or for the last link of a leg a shank with a foot.

    A broken link has no foot and no servo at its end; a link behind a damaged joint has the colour of this damage.
    """
    if branch.link is None:
        raise RobotError("a branch without a link has no shape")
    length = branch.link.length
    if length <= 0.0:
        return
    colour = branch.damage.kind.name if branch.damage is not None else None
    if not branch.last:
        for y in (-0.012, 0.012):
            _box(element, (length, 0.003, 0.024), (0.5 * length, y, 0.0), colour or "bracket")
        if branch.whole:
            _box(element, (0.03, SERVO[1], 0.03), (length - 0.004, 0.0, 0.0), colour or "servo")
    else:
        _box(element, (0.3 * length, 0.021, 0.028), (0.12 * length, 0.0, 0.0), colour or "servo")
        shank = _visual(element, (0.62 * length, 0.0, 0.0), colour or "bracket", "0 1.570796 0")
        ET.SubElement(shank, "cylinder", radius="0.006", length=f"{0.75 * length:.6g}")
        if branch.whole:
            foot = _visual(element, (length - FOOT_RADIUS, 0.0, 0.0), colour or "foot")
            ET.SubElement(foot, "sphere", radius=f"{FOOT_RADIUS:.6g}")
    collision = ET.SubElement(element, "collision")
    ET.SubElement(collision, "origin", xyz=f"{0.5 * length} 0 0", rpy="0 1.5707963267948966 0")
    ET.SubElement(ET.SubElement(collision, "geometry"), "cylinder", radius="0.012", length=repr(float(length)))


def _visual(element: ET.Element, position: Iterable[float], colour: str, rpy: str = "0 0 0") -> ET.Element:
    visual = ET.SubElement(element, "visual")
    ET.SubElement(visual, "origin", xyz=" ".join(f"{value:.6g}" for value in position), rpy=rpy)
    geometry = ET.SubElement(visual, "geometry")
    ET.SubElement(visual, "material", name=colour)
    return geometry


def _box(element: ET.Element, size: Iterable[float], position: Iterable[float], colour: str, yaw: float = 0.0) -> None:
    geometry = _visual(element, position, colour, f"0 0 {yaw:.6g}")
    ET.SubElement(geometry, "box", size=" ".join(f"{value:.6g}" for value in size))
