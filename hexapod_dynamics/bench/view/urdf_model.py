"""A URDF for a viewer: the tree of joints, and the primitive shapes of each link as one mesh per colour."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.errors import HexapodError

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint: names, kind ("revolute", "prismatic", "fixed"), origin in the parent, axis (3,) in the child's axes."""

    name: str
    kind: str
    parent: str
    child: str
    rotation: Rotation
    position: Vector
    axis: Vector

    def place(self, value: float) -> tuple[Rotation, Vector]:
        """Rotation and position (3,) [m] of the child in the parent, at the joint position `value` [rad or m]."""
        if self.kind == "prismatic":
            return self.rotation, self.position + self.rotation.apply(self.axis * value)
        if self.kind == "fixed":
            return self.rotation, self.position
        return self.rotation * Rotation.from_rotvec(self.axis * value), self.position


@dataclass(frozen=True, eq=False)
class UrdfMesh:
    """Triangles of one colour in a link's frame: vertices (v, 3) [m], faces (f, 3), rgba (4,) from 0 to 1."""

    vertices: Vector
    faces: NDArray[np.int64]
    rgba: tuple[float, ...]


@dataclass(eq=False)
class UrdfModel:
    """A URDF as a viewer needs it: joints in an order in which parents come first, meshes by link."""

    root: str
    joints: list[UrdfJoint] = field(default_factory=list)
    meshes: dict[str, list[UrdfMesh]] = field(default_factory=dict)
    name: str = ""

    @property
    def reach(self) -> float:
        """Largest distance [m] of a link's frame from the root's, all joints at zero."""
        places = {self.root: (Rotation.identity(), np.zeros(3))}
        for joint in self.joints:
            (turn, place), (rotation, position) = places[joint.parent], joint.place(0.0)
            places[joint.child] = turn * rotation, place + turn.apply(position)
        return max(float(np.linalg.norm(place)) for _, place in places.values())


def parse(text: str) -> UrdfModel:
    """Read a URDF of boxes, cylinders and spheres; meshes from files are skipped. HexapodError if it is not a URDF."""
    try:
        return _parse(text)
    except HexapodError:
        raise
    except (ValueError, TypeError) as error:  # of a number that is none, or of too few
        raise HexapodError(f"robot_description cannot be read: {error}") from None


def _parse(text: str) -> UrdfModel:
    try:
        tree = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:  # ValueError: text that no UTF-8 can represent
        raise HexapodError(f"robot_description is not XML: {error}") from None
    if tree.tag != "robot":
        raise HexapodError(f"robot_description has the root element <{tree.tag}>; a URDF has <robot>")
    colours = {m.get("name", ""): _rgba(m) for m in tree.findall("material")}
    unordered = [_joint(element) for element in tree.findall("joint")]
    links = [link.get("name", "") for link in tree.findall("link")]
    roots = [name for name in links if name not in {joint.child for joint in unordered}]
    if len(roots) != 1:
        raise HexapodError(f"robot_description has {len(roots)} root links ({', '.join(roots)}); one is needed")
    model = UrdfModel(roots[0], name=tree.get("name", ""))
    known, waiting = {roots[0]}, unordered
    while waiting:
        ready = [joint for joint in waiting if joint.parent in known]
        if not ready:
            raise HexapodError(f"robot_description: joint {waiting[0].name} is attached to no link")
        model.joints += ready
        known |= {joint.child for joint in ready}
        waiting = [joint for joint in waiting if joint.child not in known]
    for link in tree.findall("link"):
        model.meshes[link.get("name", "")] = _meshes(link, colours)
    return model


def _joint(element: ET.Element) -> UrdfJoint:
    parent, child, axis = element.find("parent"), element.find("child"), element.find("axis")
    if parent is None or child is None:
        raise HexapodError(f"robot_description: joint {element.get('name')} lacks a parent or a child")
    rotation, position = _origin(element)
    kind = {"continuous": "revolute"}.get(element.get("type", ""), element.get("type", ""))
    return UrdfJoint(
        element.get("name", ""),
        kind if kind in ("revolute", "prismatic") else "fixed",
        parent.get("link", ""),
        child.get("link", ""),
        rotation,
        position,
        _vector(axis.get("xyz") if axis is not None else None, (1.0, 0.0, 0.0)),
    )


def _meshes(link: ET.Element, colours: dict[str, tuple[float, ...]]) -> list[UrdfMesh]:
    parts: dict[tuple[float, ...], list[tuple[Vector, NDArray[np.int64]]]] = {}
    for visual in link.findall("visual"):
        geometry, material = visual.find("geometry"), visual.find("material")
        shape = _shape(geometry) if geometry is not None else None
        if shape is None:
            continue
        rgba: tuple[float, ...] = (0.6, 0.6, 0.6, 1.0)
        if material is not None:
            rgba = (
                _rgba(material) if material.find("color") is not None else colours.get(material.get("name", ""), rgba)
            )
        rotation, position = _origin(visual)
        parts.setdefault(rgba, []).append((rotation.apply(shape[0]) + position, shape[1]))
    meshes = []
    for rgba, pieces in parts.items():
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
        faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=False)]
        meshes.append(UrdfMesh(np.concatenate([v for v, _ in pieces]), np.concatenate(faces), rgba))
    return meshes


def _shape(geometry: ET.Element) -> tuple[Vector, NDArray[np.int64]] | None:
    import trimesh  # comes with viser

    box, cylinder, sphere = (geometry.find(kind) for kind in ("box", "cylinder", "sphere"))
    if box is not None:
        mesh = trimesh.creation.box(extents=_vector(box.get("size"), (0.1, 0.1, 0.1)))
    elif cylinder is not None:
        radius, height = float(cylinder.get("radius", "0.01")), float(cylinder.get("length", "0.1"))
        mesh = trimesh.creation.cylinder(radius=radius, height=height, sections=20)
    elif sphere is not None:
        mesh = trimesh.creation.icosphere(radius=float(sphere.get("radius", "0.01")), subdivisions=2)
    else:
        return None
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)


def _origin(element: ET.Element) -> tuple[Rotation, Vector]:
    origin = element.find("origin")
    if origin is None:
        return Rotation.identity(), np.zeros(3)
    return Rotation.from_euler("xyz", _vector(origin.get("rpy"), (0, 0, 0))), _vector(origin.get("xyz"), (0, 0, 0))


def _vector(text: str | None, default: Any) -> Vector:
    values = np.array([float(word) for word in text.split()] if text else default, float)
    if values.shape != np.shape(default):
        raise HexapodError(f"robot_description: {text[:60] if text else ''!r} given, {len(default)} numbers needed")
    return values


def _rgba(material: ET.Element) -> tuple[float, ...]:
    colour = material.find("color")
    return tuple(_vector(colour.get("rgba") if colour is not None else None, (0.6, 0.6, 0.6, 1.0)).tolist())
