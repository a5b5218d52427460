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
from hexapod_dynamics.robot.parts import DRAKE, MOMENTS, Body, Joint, Link
from hexapod_dynamics.se3 import inertia_elements, roll_pitch_yaw

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
    for name, rgba in (COLOURS | {kind.name: kind.colour for kind in KINDS.joint_kinds}).items():
        add(add(root, "material", name=name), "color", rgba=rgba)
    body = add(root, "link", name="base_link")
    _inertial(body, robot.body)
    _draw_body(body, robot)
    for branch in tree:
        _joint(root, robot, branch)
        element = add(root, "link", name=branch.child)
        if branch.link is not None:
            _inertial(element, branch.link)
            _draw_link(element, branch)
    for branch in tree:
        if branch.joint is not None and branch.lock is None and branch.joint.rotor_inertia:
            _transmission(root, branch.joint)
    return document(root)


def _joint(root: ET.Element, robot: Robot, branch: Branch) -> None:
    joint, pose = branch.joint, branch.at_zero
    if joint is not None and joint.kind == "helical":
        raise RobotError(f"joint {joint.name}: URDF has no helical joint; revolute and prismatic joints can be written")
    kind = _kind(joint) if joint is not None and branch.lock is None else "fixed"
    element = add(root, "joint", name=joint.name if joint is not None else f"foot_joint_{branch.leg}", type=kind)
    add(element, "origin", xyz=pose[:3, 3], rpy=roll_pitch_yaw(pose[:3, :3]))
    add(element, "parent", link=branch.parent)
    add(element, "child", link=branch.child)
    if joint is not None and kind != "fixed":
        add(element, "axis", xyz=branch.axis)
        bounds = {"lower": joint.lower, "upper": joint.upper} if kind != "continuous" else {}
        add(element, "limit", **bounds, effort=robot.servo.torque_limit, velocity=robot.servo.speed_limit)


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
    element = add(root, "transmission", name=f"{joint.name}_transmission")
    add(element, "type").text = "transmission_interface/SimpleTransmission"
    add(element, "joint", name=joint.name)
    actuator = add(element, "actuator", name=f"{joint.name}_motor")
    add(actuator, f"{{{DRAKE}}}gear_ratio", value="1.0")
    add(actuator, f"{{{DRAKE}}}rotor_inertia", value=joint.rotor_inertia)


def _inertial(link: ET.Element, part: Body | Link) -> None:
    element = add(link, "inertial")
    add(element, "origin", xyz=part.com, rpy="0 0 0")
    add(element, "mass", value=part.mass)
    add(element, "inertia", **dict(zip(MOMENTS, inertia_elements(part.inertia).tolist(), strict=True)))


# ---- XML, of MJCF and ros2_control too -------------------------------------------------------------------------------


def add(parent: ET.Element, tag: str, **attributes: str | float | Iterable[float]) -> ET.Element:
    """Append an element and return it; numbers have all their digits, -0.0 is 0.0."""
    texts = {}
    for name, value in attributes.items():
        numbers = value if isinstance(value, str | Iterable) else (value,)
        texts[name] = numbers if isinstance(numbers, str) else " ".join(repr(float(one) + 0.0) for one in numbers)
    return ET.SubElement(parent, tag, texts)


def document(root: ET.Element, head: str = '<?xml version="1.0"?>\n') -> str:
    """Return an element as the text of a file; RobotError for a character that XML cannot have, such as a control
    character.
    """
    for element in root.iter():
        for value in element.attrib.values():
            if NOT_IN_XML.search(value):
                raise RobotError(f"name {value!r}: it has a character that XML cannot have; rename it")
    ET.indent(root)
    return head + ET.tostring(root, encoding="unicode") + "\n"


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
    collision = add(element, "collision")
    add(collision, "origin", xyz="0 0 0", rpy="0 0 0")
    add(add(collision, "geometry"), "box", size=f"{length} {width} {height}")


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
        add(shank, "cylinder", radius="0.006", length=f"{0.75 * length:.6g}")
        if branch.whole:
            foot = _visual(element, (length - FOOT_RADIUS, 0.0, 0.0), colour or "foot")
            add(foot, "sphere", radius=FOOT_RADIUS)
    collision = add(element, "collision")
    add(collision, "origin", xyz=f"{0.5 * length} 0 0", rpy="0 1.5707963267948966 0")
    add(add(collision, "geometry"), "cylinder", radius="0.012", length=length)


def _visual(element: ET.Element, position: Iterable[float], colour: str, rpy: str = "0 0 0") -> ET.Element:
    visual = add(element, "visual")
    add(visual, "origin", xyz=" ".join(f"{value:.6g}" for value in position), rpy=rpy)
    geometry = add(visual, "geometry")
    add(visual, "material", name=colour)
    return geometry


def _box(element: ET.Element, size: Iterable[float], position: Iterable[float], colour: str, yaw: float = 0.0) -> None:
    geometry = _visual(element, position, colour, f"0 0 {yaw:.6g}")
    add(geometry, "box", size=" ".join(f"{value:.6g}" for value in size))
