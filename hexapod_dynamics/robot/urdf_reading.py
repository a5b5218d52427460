"""Reads a URDF as a tree of links (model_tree.py), for robots and for the view.

Rotor inertias are read from <transmission> elements with Drake's names, times the gear ratio squared. Calls of xacro,
repeated names and links that form no tree are refused. `read_tree` reads the structure, poses and shapes, so that the
view draws a URDF that is no robot, too; `read_robot_tree` also masses, limits, drives and meshes.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import numpy as np

from hexapod_dynamics.errors import RobotError, parse_number, suggest
from hexapod_dynamics.robot.checked_yaml import quote
from hexapod_dynamics.robot.model_tree import MOVING, UNITS, Shape, TreeLink, warn
from hexapod_dynamics.robot.parts import DRAKE, MOMENTS
from hexapod_dynamics.se3 import inertia_matrix, pose, rotation_rpy

TURN = np.pi  # [rad or m] limits of a joint whose limits in the file are both 0; a continuous joint has none
ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)[\"']")  # of a file whose first bytes are ASCII
UNMARKED_ENCODINGS = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # first bytes of a file without a byte order mark
XACRO_ELEMENT = re.compile(r"<\s*(xacro:[\w.-]+)")
SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",), "capsule": ("radius", "length")}
READ = ("link", "joint", "transmission", "material")  # elements of a URDF; those of simulators are left alone
# What elements have: in the first ones, another attribute is a mistake; the others may have more, of other names.
CLOSED = {"origin": ("xyz", "rpy"), "axis": ("xyz",), "mass": ("value",), "parent": ("link",), "child": ("link",)}
CLOSED["inertia"] = MOMENTS
OPEN = {
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "safety_controller", "calibration"),
    "limit": ("lower", "upper", "effort", "velocity"),
} | dict.fromkeys(("visual", "collision"), ("origin", "geometry", "material"))
XACRO_CALL = re.compile(r"\$[{(][^})]*[})]?")


def read_root(text_or_path: str | os.PathLike[str]) -> ET.Element:
    """Return the element <robot> of a URDF that is given as text or as a path, in any encoding that it declares.

    Raises RobotError for what is no URDF, and for calls of xacro.
    """
    if not isinstance(text_or_path, (str, os.PathLike)):
        raise RobotError(f"URDF: {quote(text_or_path)} given, the text of a URDF or the path of a file needed")
    text: str | bytes = str(text_or_path).strip()
    if "<" not in str(text):
        try:
            text = Path(text_or_path).read_bytes().lstrip(b" \t\r\n")
        except (OSError, ValueError) as error:  # ValueError: not a path
            reason = error.strerror if isinstance(error, OSError) else error
            raise RobotError(f"URDF file {str(text_or_path)[:200]}: cannot be read: {reason}") from None
    try:
        root = ET.fromstring(_decode(text) if isinstance(text, bytes) else text)
    except (ET.ParseError, ValueError, LookupError) as error:  # ValueError, LookupError: an encoding that is none
        found = XACRO_ELEMENT.search(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        if found:
            _refuse_xacro(f"<{found[1]}>")
        remedy = "" if isinstance(text, str) else "; the file must have the encoding that it declares, UTF-8 if none"
        raise RobotError(f"URDF: not XML: {error}{remedy}") from None
    namespace = root.tag.removesuffix("robot")
    if namespace.startswith("{"):  # a default namespace is that of all elements
        for element in root.iter():
            if isinstance(element.tag, str):
                element.tag = element.tag.removeprefix(namespace)
    if root.tag != "robot":
        raise RobotError(f"URDF: the root element is <{root.tag[:60]}>, <robot> needed")
    return root


def _decode(content: bytes) -> str | bytes:
    """Return the text of a file in an encoding which the parser of XML may not know: GB2312, UTF-16 without a mark."""
    declared = ENCODING.match(content)
    encoding = UNMARKED_ENCODINGS.get(content[:2]) if declared is None else declared[1].decode()
    return content if encoding is None else content.decode(encoding)


def read_tree(root: ET.Element, meshes: Callable[[str], np.ndarray | None] | None = None) -> TreeLink:
    """Return the root link, which no joint carries, with all that is attached to it; RobotError if this is no tree.

    meshes: returns the vertices (v, 3) of a file of a mesh, None if it cannot be read; without it, meshes are left out.
    """
    colours = {m.get("name", ""): _rgba(m) for m in root.findall("material")}
    links: dict[str, TreeLink] = {}
    for element in root.findall("link"):
        link = _link(element, colours, meshes)
        if link.name in links:
            raise RobotError(f"link {link.name}: there are two of this name")
        links[link.name] = link
    for element in root.findall("joint"):
        name, ends = element.get("name", ""), []
        for side in ("parent", "child"):
            end = element.find(side)
            at = None if end is None else end.get("link")
            if at not in links:
                raise RobotError(f"joint {name}: its {side} link {at!r} is not in the file")
            ends.append(links[at])
        parent, child = ends
        if child.kind:
            raise RobotError(f"link {child.name}: two joints carry it, {child.joint} and {name}")
        kind, axis = element.get("type") or "none", element.find("axis")
        child.joint, child.kind, child.joint_element = name, {"continuous": "revolute"}.get(kind, kind), element
        child.pose = read_origin(element, f"joint {name}")
        if axis is not None and kind != "fixed":
            along = read_numbers(axis.get("xyz", "1 0 0"), 3, f"joint {name}: axis")
            child.axis = along / (np.linalg.norm(along) or 1.0)
        parent.children.append(child)
    roots = [link for link in links.values() if not link.kind]
    if len(roots) != 1:
        names = ", ".join(link.name for link in roots) or ("none, so the joints close a loop" if links else "no links")
        raise RobotError(f"URDF: one link that no joint carries is needed (the body), there are: {names}")
    reached = {id(link) for link in roots[0].list_subtree()}
    left = [link for link in links.values() if id(link) not in reached]
    if left:
        raise RobotError(
            f"URDF: links {', '.join(link.name for link in left)} are not connected to the body {roots[0].name}: their "
            f"joints {', '.join(link.joint for link in left)} carry one another"
        )
    return roots[0]


def read_robot_tree(text_or_path: str | os.PathLike[str]) -> tuple[str, TreeLink]:
    """Return the name and the tree of a URDF with masses, limits, drives and meshes. Raises RobotError."""
    root = read_root(text_or_path)
    _check_elements(root)
    folder = Path(text_or_path).parent if "<" not in str(text_or_path) else None
    base = read_tree(root, lambda file: _stl_vertices(_mesh_path(file, folder)))
    rotors = _read_transmissions(root)
    for link in base.list_subtree():
        read_inertial(link)
        if link.kind not in ("", "fixed"):
            link.rotor_inertia = rotors.get(link.joint, 0.0)
            _read_drive(link)
    return (root.get("name") or "robot").replace("/", "_"), base


# ---- structure, for robots and the view ------------------------------------------------------------------------------


def read_origin(element: ET.Element, where: str) -> np.ndarray:
    """Return the pose (4, 4) of an element's <origin>, identity without one; RobotError names `where` it stands."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    rpy = read_numbers(origin.get("rpy", "0 0 0"), 3, f"{where}: origin rpy")
    return pose(rotation_rpy(*rpy), read_numbers(origin.get("xyz", "0 0 0"), 3, f"{where}: origin xyz"))


def read_numbers(text: str | None, count: int, what: str, remedy: str = "") -> np.ndarray:
    """Return the required count of finite numbers from a text; RobotError names `what` they are, and the remedy."""
    try:
        values = np.array([parse_number(word) for word in str(text).split()])
    except ValueError:
        values = np.array([np.nan])
    if values.shape != (count,) or not np.isfinite(values).all():
        needed = "1 finite number" if count == 1 else f"{count} finite numbers"
        raise RobotError(f"{what}: {str(text)[:60]!r} given, {needed} needed{remedy}")
    return values


def read_number(text: str | None, what: str, remedy: str = "") -> float:
    """Return the one finite number of a text, as `read_numbers`."""
    return float(read_numbers(text, 1, what, remedy)[0])


def _link(
    element: ET.Element, colours: dict[str, tuple[float, ...]], meshes: Callable[[str], np.ndarray | None] | None
) -> TreeLink:
    link = TreeLink(element.get("name", ""), element=element)
    for what, shapes in (("collision", link.collisions), ("visual", link.visuals)):
        for shaped in element.findall(what):
            material = shaped.find("material")
            colour = colours.get("" if material is None else material.get("name", ""), Shape.rgba)
            if material is not None and material.find("color") is not None:
                colour = _rgba(material)
            for shape in shaped.findall("geometry/*"):
                size = _size(shape, link, meshes)
                if size is not None:
                    shapes.append(Shape(shape.tag, size, read_origin(shaped, f"link {link.name}: {what}"), colour))
    return link


def _size(shape: ET.Element, link: TreeLink, meshes: Callable[[str], np.ndarray | None] | None) -> np.ndarray | None:
    """Return the size of a primitive shape or the vertices of a mesh; None for another one, or one left out."""
    where = f"link {link.name}: {shape.tag}"
    if shape.tag == "mesh" and meshes is not None:
        file = shape.get("filename", "")
        scale, vertices = read_numbers(shape.get("scale", "1 1 1"), 3, f"{where}: scale of {file}"), meshes(file)
        if vertices is None:
            link.unreadable.append(f"mesh {file}")
            return None
        return vertices * scale
    if shape.tag not in SIZES:
        return None
    text = " ".join(shape.get(key, "") for key in SIZES[shape.tag])
    size = read_numbers(text, 3 if shape.tag == "box" else len(SIZES[shape.tag]), where)
    if np.min(size) < 0.0:
        raise RobotError(f"{where}: {text!r} given, no size [m] may be below 0")
    return size


def _rgba(material: ET.Element) -> tuple[float, ...]:
    colour = material.find("color")
    text = None if colour is None else colour.get("rgba")
    where = f"material {material.get('name', '')}: rgba"
    return tuple(read_numbers(text, 4, where).tolist()) if text else Shape.rgba


# ---- what a robot needs ----------------------------------------------------------------------------------------------


def _refuse_xacro(what: str) -> NoReturn:
    raise RobotError(f"URDF: {what} is a call of xacro; run xacro first: xacro robot.urdf.xacro > robot.urdf")


def _check_elements(root: ET.Element) -> None:
    """Raise RobotError for calls of xacro, for misspelt words, and for joints without a name of their own."""
    for element in root.iter():
        if isinstance(element.tag, str) and "xacro}" in element.tag:
            _refuse_xacro(f"<xacro:{element.tag.partition('}')[2]}>")
    for element in root:
        for inner in element.iter() if element.tag in READ else ():
            for value in (*inner.attrib.values(), inner.text or ""):
                if XACRO_CALL.search(value):
                    _refuse_xacro(f"{element.tag} {element.get('name')}: {value.strip()!r}")
            known = CLOSED.get(inner.tag) or OPEN.get(inner.tag, ())
            for word in {*inner.attrib, *(part.tag for part in inner)}.difference(known):
                similar = "_" not in word and get_close_matches(word.lower(), known, 1, 0.75)
                if similar or inner.tag in CLOSED:
                    where = f"{element.tag} {element.get('name')}: <{inner.tag}>"
                    raise RobotError(f"{where} has no {word!r}; {suggest(word, known)}")
    for name, count in Counter(joint.get("name", "") for joint in root.findall("joint")).items():
        if count > 1 or not name:
            wrong = f" {name}: there are two of this name" if name else ": one has no name"
            raise RobotError(f"joint{wrong}; give each joint a name of its own")


def _is_number(text: str | None, number: float) -> bool:
    """Return whether a text is this number."""
    try:
        return parse_number(text or "") == number
    except ValueError:
        return False


def _read_transmissions(root: ET.Element) -> dict[str, float]:
    """Return each joint's reflected rotor inertia, drake:rotor_inertia gear_ratio^2; warn of other reductions."""
    found: dict[str, float] = {}
    for transmission in root.findall("transmission"):
        joint = transmission.find("joint")
        name = transmission.get("name", "") if joint is None else joint.get("name", "")
        for reduction in transmission.iter("mechanicalReduction"):
            if not _is_number(reduction.text, 1.0):
                warn(
                    f"joint {name}: mechanicalReduction {(reduction.text or '').strip()} is not used: torques and "
                    "rates are the joint's; a motor's rotor is read from drake:rotor_inertia and drake:gear_ratio"
                )
        for actuator in transmission.findall("actuator"):
            rotor, gear = (actuator.find(f"{{{DRAKE}}}{name}") for name in ("rotor_inertia", "gear_ratio"))
            if joint is not None and rotor is not None:
                inertia = read_number(rotor.get("value"), f"joint {name}: drake:rotor_inertia")
                ratio = "1" if gear is None else gear.get("value")
                found[name] = inertia * read_number(ratio, f"joint {name}: drake:gear_ratio") ** 2
    return found


def read_inertial(link: TreeLink) -> None:
    """Read the mass properties of a link, zero without an <inertial>. Raises RobotError."""
    inertial = link.element.find("inertial")
    if inertial is None:
        return
    mass, moments = inertial.find("mass"), inertial.find("inertia")
    if mass is None or moments is None:
        raise RobotError(f"link {link.name}: its <inertial> needs <mass> and <inertia>")
    placed = read_origin(inertial, f"link {link.name}: inertial")
    elements = (read_number(moments.get(key, "0"), f"link {link.name}: {key}") for key in MOMENTS)
    turn, link.com = placed[:3, :3], placed[:3, 3]
    link.inertia = turn @ inertia_matrix(*elements) @ turn.T
    link.mass = read_number(mass.get("value"), f"link {link.name}: mass")
    if link.mass < 0.0:
        raise RobotError(f"link {link.name}: mass {link.mass:g} kg given, it must not be below 0")


def _read_drive(link: TreeLink) -> None:
    """Read limits, effort and velocity of a joint that moves, and note what the robot has no place for."""
    where, element = f"joint {link.joint}", link.joint_element
    limit, mimic, dynamics, safety = map(element.find, ("limit", "mimic", "dynamics", "safety_controller"))
    if mimic is not None:
        link.follows = mimic.get("joint") or "?"
    if element.get("type") in MOVING:
        if limit is None:
            raise RobotError(f"{where}: a {link.kind} joint needs a <limit> with lower and upper")
        lower, upper = (read_number(limit.get(side, "0"), f"{where}: {side}") for side in ("lower", "upper"))
        # exporters write zeros for a joint without limits
        link.lower, link.upper = (-TURN, TURN) if lower == upper == 0.0 else (lower, upper)
    for key, name in (("effort", "torque_limit"), ("velocity", "speed_limit")):
        text = None if limit is None else limit.get(key)
        if text is None:
            continue
        remedy = f' above 0; write {key}="2.5" [{UNITS[name]}], or leave {key} out for a servo like the JetHexa\'s'
        value = read_number(text, f"{where}: {key}", remedy)
        if value < 0.0:
            raise RobotError(f"{where}: {key}: {text!r} given, a number needed{remedy}")
        if value > 0.0:  # exporters write zeros for a joint whose limits are not known
            link.drive[name] = value
    given = [f"{k} {v}" for k, v in ({} if dynamics is None else dynamics.attrib).items() if not _is_number(v, 0.0)]
    if given:
        link.notes.append(
            f"<dynamics> {' and '.join(given)} not used: joints of the model have no friction; the servo's damping "
            "is an argument, servo=Servo(...)"
        )
    soft = [f"{k} {v}" for k, v in ({} if safety is None else safety.attrib).items() if k.startswith("soft_")]
    if soft:
        link.notes.append(f"<safety_controller> {', '.join(soft)} not used: the stops are those of <limit>")


# ---- meshes ----------------------------------------------------------------------------------------------------------


def _mesh_path(name: str, folder: Path | None) -> Path | None:
    """Return the path of a mesh's file, or None: package:// and model:// by the ament index, else beside the URDF."""
    scheme, _, rest = name.rpartition("://")
    if scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        try:
            from ament_index_python.packages import get_package_share_directory

            return Path(get_package_share_directory(package)) / inside
        except (ImportError, LookupError, ValueError, OSError):  # no ROS, no such package, no package's name
            pass
        # a checkout that is not installed: the URDF lies in a folder of the package, or in it
        above = () if folder is None else (folder.resolve(), *folder.resolve().parents)
        return next((p / inside for p in above if (p / inside).is_file()), None)
    if scheme in ("", "file"):
        return Path(rest) if folder is None else folder / rest
    return None


def _stl_vertices(path: Path | None) -> np.ndarray | None:
    """Return the vertices (v, 3) of a binary or ASCII STL file; None for anything else."""
    try:
        if path is None or path.suffix.lower() != ".stl":
            return None
        raw = path.read_bytes()
        count = int.from_bytes(raw[80:84], "little")
        if len(raw) == 84 + 50 * count:
            triangles = np.frombuffer(
                raw, [("normal", "<f4", 3), ("corners", "<f4", 9), ("attribute", "<u2")], offset=84
            )
            points = triangles["corners"].reshape(-1, 3).astype(float)
        else:
            words = re.findall(r"vertex\s+(\S+)\s+(\S+)\s+(\S+)", raw.decode("ascii", "replace"))
            points = np.array([[parse_number(word) for word in row] for row in words]).reshape(-1, 3)
    except (OSError, ValueError):  # not there; not numbers
        return None
    return points if len(points) and np.isfinite(points).all() else None
