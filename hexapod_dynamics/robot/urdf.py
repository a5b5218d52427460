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

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.link_tree import Branch, list_branches
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
ALONG_X = (0.0, 0.5 * math.pi, 0.0)  # roll, pitch and yaw of a cylinder along the link
SERVO = (0.040, 0.020, 0.036)  # [m] an HTD-35H class servo: 54 x 20 x 48 mm with its horn and lugs


def to_urdf(robot: Robot, morphology: Morphology | None = None) -> str:
    """Return the URDF text of the robot with `morphology` (None: intact).

    Numbers are written with all their digits, so a reader gets the robot's own masses, inertias and lengths. Rotor
    inertias are in <transmission> elements with Drake's names (drake:rotor_inertia); Pinocchio ignores them. A
    joint without limits is "continuous". RobotError for what URDF does not have: a helical joint, a joint with a
    limit on one side only, a name that XML cannot have.
    """
    root = ET.Element("robot", name=robot.name)
    tree = list_branches(robot, morphology)
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
            if branch.link.length > 0.0:
                _draw_link(element, branch, branch.link.length)
    for branch in tree:
        if (joint := branch.moving) is not None and joint.rotor_inertia:
            _transmission(root, joint)
    return format_document(root)


def _joint(root: ET.Element, robot: Robot, branch: Branch) -> None:
    joint, pose = branch.joint, branch.at_zero
    if joint is not None and joint.kind == "helical":
        raise RobotError(f"joint {joint.name}: URDF has no helical joint; revolute and prismatic joints can be written")
    kind = "fixed" if branch.moving is None else _kind(branch.moving)
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
    """Write a motor's rotor inertia in the form that Drake reads (URDF itself has none): at the joint, gear ratio 1."""
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


def format_document(root: ET.Element, head: str = '<?xml version="1.0"?>\n') -> str:
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


def _draw_body(body: ET.Element, robot: Robot) -> None:
    """Write two plates, the computer between and above them, a servo at each hip; the body's box collides."""
    length, width, height = robot.body.box
    for z in (-0.5 * height, 0.5 * height):
        _box(body, (length, width, 0.004), (0.0, 0.0, z), "plate")
    _box(body, (0.55 * length, 0.8 * width, 0.6 * height), (0.0, 0.0, 0.0), "servo")
    _box(body, (0.40 * length, 0.75 * width, 0.012), (0.0, 0.0, 0.5 * height + 0.015), "board")
    _box(body, (0.02, 0.5 * width, 0.02), (0.48 * length, 0.0, 0.5 * height + 0.012), "bracket")
    for leg in robot.legs:
        hip, outward = leg.mount_position, leg.mount_rotation[:, 0]
        _box(body, SERVO, hip - 0.35 * SERVO[0] * outward, "servo", math.atan2(outward[1], outward[0]))
        x, y = 0.4 * hip[0], hip[1]  # of the arm that carries the hip
        for z in (-0.5 * height, 0.5 * height):
            _box(body, (math.hypot(x, y), 0.03, 0.004), (hip[0] - 0.5 * x, 0.5 * y, z), "plate", math.atan2(y, x))
    _shape(body, "box", (0.0, 0.0, 0.0), size=robot.body.box)


def _draw_link(element: ET.Element, branch: Branch, length: float) -> None:
    """Write a bracket with the next servo at its end, or for the last link of a leg a shank with a foot.

    A broken link has no foot and no servo at its end; a link behind a damaged joint has the colour of this damage.
    """
    damage = branch.damage.kind.name if branch.damage is not None else None
    if not branch.last:
        for y in (-0.012, 0.012):
            _box(element, (length, 0.003, 0.024), (0.5 * length, y, 0.0), damage or "bracket")
        if branch.intact:
            _box(element, (0.03, SERVO[1], 0.03), (length - 0.004, 0.0, 0.0), damage or "servo")
    else:
        _box(element, (0.3 * length, 0.021, 0.028), (0.12 * length, 0.0, 0.0), damage or "servo")
        shank = {"radius": 0.006, "length": 0.75 * length}
        _shape(element, "cylinder", (0.62 * length, 0.0, 0.0), damage or "bracket", ALONG_X, **shank)
        if branch.intact:
            radius = 0.008
            _shape(element, "sphere", (length - radius, 0.0, 0.0), damage or "foot", radius=radius)
    _shape(element, "cylinder", (0.5 * length, 0.0, 0.0), rpy=ALONG_X, radius=0.012, length=length)


def _box(element: ET.Element, size: Iterable[float], place: Iterable[float], colour: str, yaw: float = 0.0) -> None:
    _shape(element, "box", place, colour, (0.0, 0.0, yaw), size=size)


def _shape(
    link: ET.Element,
    kind: str,
    place: Iterable[float],
    colour: str = "",
    rpy: Iterable[float] = (0.0, 0.0, 0.0),
    **size: float | Iterable[float],
) -> None:
    """Write a shape that is seen, or, without a colour, one that collides."""
    element = add(link, "visual" if colour else "collision")
    add(element, "origin", xyz=place, rpy=rpy)
    add(add(element, "geometry"), kind, **size)
    if colour:
        add(element, "material", name=colour)
