"""The tree of links in the XML of a URDF, for the reader of robots and for that of the view."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.urdf_checks import check_xacro_text
from hexapod_dynamics.se3 import rotation_rpy


class UrdfPart:
    """A link: its element, the joint that carries it (an element <none> for the root), and what is attached to it."""

    def __init__(self, element: ET.Element) -> None:
        self.element, self.name = element, element.get("name", "")
        self.joint = ET.Element("none")
        self.children: list[UrdfPart] = []
        self.depth = 0  # number of joints between the root and it


def read_text(text_or_path: Any) -> str:
    """Return the text of a URDF that is given as text or as a path; RobotError."""
    if not isinstance(text_or_path, (str, os.PathLike)):
        raise RobotError(f"URDF: {text_or_path!r} given, the text of a URDF or the path of a file needed")
    text = str(text_or_path)
    if "<" in text:
        return text
    try:
        return Path(text_or_path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or not a path
        reason = error.strerror if isinstance(error, OSError) else error
        raise RobotError(f"URDF file {text[:200]}: cannot be read: {reason}") from None


def read_root(text: str) -> ET.Element:
    """Return the element <robot> of a text; RobotError."""
    try:
        root = ET.fromstring(text.strip())
    except (ET.ParseError, ValueError) as error:  # ValueError: text that UTF-8 cannot represent
        check_xacro_text(text)
        raise RobotError(f"URDF: not XML: {error}") from None
    if root.tag != "robot":
        raise RobotError(f"URDF: the root element is <{root.tag[:60]}>, <robot> needed")
    return root


def read_tree(root: ET.Element) -> UrdfPart:
    """Return the root link, which no joint carries, with everything attached to it; RobotError if the links form
    no tree.
    """
    parts: dict[str, UrdfPart] = {}
    for element in root.findall("link"):
        part = UrdfPart(element)
        if part.name in parts:
            raise RobotError(f"link {part.name}: there are two of this name")
        parts[part.name] = part
    for joint in root.findall("joint"):
        name, ends = joint.get("name"), []
        for side in ("parent", "child"):
            end = joint.find(side)
            link = None if end is None else end.get("link")
            if link not in parts:
                raise RobotError(f"joint {name}: its {side} link {link!r} is not in the file")
            ends.append(parts[link])
        parent, child = ends
        if child.joint.tag == "joint":
            raise RobotError(f"link {child.name}: two joints carry it, {child.joint.get('name')} and {name}")
        child.joint = joint
        parent.children.append(child)
    roots = [part for part in parts.values() if part.joint.tag != "joint"]
    if len(roots) != 1:
        names = ", ".join(part.name for part in roots) or "none"
        raise RobotError(f"URDF: one link that no joint carries is needed (the body), there are: {names}")
    _check_connected(roots[0], list(parts.values()))
    return roots[0]


def all_parts(base: UrdfPart) -> list[UrdfPart]:
    """Return a link and all links below it, each after its parent, and set their depths."""
    found = [base]
    for part in found:  # the list grows in this loop
        for child in part.children:
            child.depth = part.depth + 1
        found += part.children
    return found


def _check_connected(base: UrdfPart, parts: list[UrdfPart]) -> None:
    """Raise RobotError if links are not connected to the root: they form a ring."""
    reached = set(map(id, all_parts(base)))
    left = [part for part in parts if id(part) not in reached]
    if left:
        joints = ", ".join(part.joint.get("name", "") for part in left)
        raise RobotError(
            f"URDF: links {', '.join(part.name for part in left)} are not connected to the body {base.name}: their "
            f"joints {joints} carry one another"
        )


def origin_of(element: ET.Element | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rotation (3, 3) and position (3,) [m] of an element's <origin>, identity and zero without one. Raises
    RobotError.
    """
    origin = None if element is None else element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    rpy = read_numbers(origin.get("rpy", "0 0 0"), 3, "origin rpy")
    return rotation_rpy(*rpy), read_numbers(origin.get("xyz", "0 0 0"), 3, "origin xyz")


def read_numbers(text: str | None, count: int, what: str) -> np.ndarray:
    """Return the required count of finite numbers from a text; RobotError names `what` they are."""
    try:
        values = np.array([float(word) for word in str(text).split()])
    except ValueError:
        raise RobotError(f"{what}: {str(text)[:60]!r} given, {count} numbers needed") from None
    if values.shape != (count,) or not np.isfinite(values).all():
        raise RobotError(f"{what}: {str(text)[:60]!r} given, {count} finite numbers needed")
    return values
