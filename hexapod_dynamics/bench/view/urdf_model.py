"""A URDF for a viewer: the tree of joints, and the primitive shapes of each link as one mesh per colour."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot.urdf_tree import UrdfPart, all_parts, origin_of, read_numbers, read_root, read_tree

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
    def hips(self) -> dict[str, str]:
        """The name of each leg's first moving link, by the name of the leg; links are named <link>_<leg>."""
        hips: dict[str, str] = {}
        for joint in self.joints:
            leg = joint.child.rpartition("_")[2]
            if joint.kind != "fixed" and f"foot_{leg}" in self.meshes:
                hips.setdefault(leg, joint.child)
        return hips

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
        tree = read_root(text)
        base = read_tree(tree)
        colours = {m.get("name", ""): _rgba(m) for m in tree.findall("material")}
        joints = [_joint(part, child) for part in all_parts(base) for child in part.children]
        meshes = {part.name: _meshes(part.element, colours) for part in all_parts(base)}
    except (HexapodError, ValueError, TypeError) as error:  # TypeError, ValueError: a number is expected
        raise HexapodError(f"robot_description cannot be read: {error}") from None
    return UrdfModel(base.name, joints, meshes, tree.get("name", ""))


def _joint(parent: UrdfPart, child: UrdfPart) -> UrdfJoint:
    element, axis = child.joint, child.joint.find("axis")
    rotation, position = origin_of(element)
    kind = {"continuous": "revolute"}.get(element.get("type", ""), element.get("type", ""))
    return UrdfJoint(
        element.get("name", ""),
        kind if kind in ("revolute", "prismatic") else "fixed",
        parent.name,
        child.name,
        Rotation.from_matrix(rotation),
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
        rotation, position = origin_of(visual)
        parts.setdefault(rgba, []).append((shape[0] @ rotation.T + position, shape[1]))
    return [_joined(pieces, rgba) for rgba, pieces in parts.items()]


def merged(meshes: Sequence[UrdfMesh], rgba: tuple[float, ...]) -> UrdfMesh:
    """Join meshes of one link into one mesh of one colour."""
    return _joined([(mesh.vertices, mesh.faces) for mesh in meshes], rgba)


def _joined(pieces: Sequence[tuple[Vector, NDArray[np.int64]]], rgba: tuple[float, ...]) -> UrdfMesh:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=False)]
    return UrdfMesh(np.concatenate([v for v, _ in pieces]), np.concatenate(faces), rgba)


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


def _vector(text: str | None, default: tuple[float, ...]) -> Vector:
    return read_numbers(text, len(default), "URDF") if text else np.array(default)


def _rgba(material: ET.Element) -> tuple[float, ...]:
    colour = material.find("color")
    return tuple(_vector(colour.get("rgba") if colour is not None else None, (0.6, 0.6, 0.6, 1.0)).tolist())
