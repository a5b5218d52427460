"""Primitive shapes for a robot's URDF: a body of two plates, brackets, servos and feet with a JetHexa's proportions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import numpy as np

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.link_tree import Branch

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

COLOURS = {
    "plate": "0.16 0.17 0.20 1",
    "board": "0.10 0.45 0.25 1",
    "servo": "0.10 0.10 0.12 1",
    "bracket": "0.62 0.65 0.70 1",
    "foot": "0.95 0.55 0.10 1",
}
FOOT_RADIUS = 0.008  # [m]
SERVO = (0.040, 0.020, 0.036)  # [m] an HTD-35H class servo: 54 x 20 x 48 mm with its horn and lugs


def colours() -> dict[str, str]:
    """Return all colours by name, red green blue opacity: those of COLOURS, and those of links behind damaged
    joints, by kind of damage.
    """
    return COLOURS | {kind.name: kind.colour for kind in KINDS.joint_kinds}


def body(element: ET.Element, robot: Robot) -> None:
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


def link(element: ET.Element, branch: Branch) -> None:
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
        _cylinder(element, 0.006, 0.75 * length, (0.62 * length, 0.0, 0.0), colour or "bracket")
        if branch.whole:
            _sphere(element, FOOT_RADIUS, (length - FOOT_RADIUS, 0.0, 0.0), colour or "foot")
    collision = ET.SubElement(element, "collision")
    ET.SubElement(collision, "origin", xyz=f"{0.5 * length} 0 0", rpy="0 1.5707963267948966 0")
    ET.SubElement(ET.SubElement(collision, "geometry"), "cylinder", radius="0.012", length=repr(float(length)))


def _visual(element: ET.Element, position: Any, colour: str, rpy: str = "0 0 0") -> ET.Element:
    visual = ET.SubElement(element, "visual")
    ET.SubElement(visual, "origin", xyz=" ".join(f"{value:.6g}" for value in position), rpy=rpy)
    geometry = ET.SubElement(visual, "geometry")
    ET.SubElement(visual, "material", name=colour)
    return geometry


def _box(element: ET.Element, size: Any, position: Any, colour: str, yaw: float = 0.0) -> None:
    geometry = _visual(element, position, colour, f"0 0 {yaw:.6g}")
    ET.SubElement(geometry, "box", size=" ".join(f"{value:.6g}" for value in size))


def _cylinder(element: ET.Element, radius: float, length: float, position: Any, colour: str) -> None:
    geometry = _visual(element, position, colour, "0 1.570796 0")
    ET.SubElement(geometry, "cylinder", radius=f"{radius:.6g}", length=f"{length:.6g}")


def _sphere(element: ET.Element, radius: float, position: Any, colour: str) -> None:
    ET.SubElement(_visual(element, position, colour), "sphere", radius=f"{radius:.6g}")
