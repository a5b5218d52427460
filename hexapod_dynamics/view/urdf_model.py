"""A URDF for a viewer: the tree of joints, and the primitive shapes of each link as one mesh per colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot.model_tree import Shape, TreeLink, carried
from hexapod_dynamics.robot.urdf_reading import read_root, read_tree

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
        root = read_root(text)
        links = read_tree(root).below()
    except HexapodError as error:
        raise HexapodError(f"robot_description cannot be read: {error}") from None
    joints = [_joint(parent.name, child) for parent in links for child in parent.children]
    return UrdfModel(links[0].name, joints, {link.name: _meshes(link) for link in links}, root.get("name", ""))


def _joint(parent: str, child: TreeLink) -> UrdfJoint:
    joint = carried(child)
    kind = joint.kind if joint.kind in ("revolute", "prismatic") else "fixed"
    rotation = Rotation.from_matrix(joint.rotation)
    return UrdfJoint(joint.name, kind, parent, child.name, rotation, joint.position, joint.axis)


def _meshes(link: TreeLink) -> list[UrdfMesh]:
    parts: dict[tuple[float, ...], list[tuple[Vector, NDArray[np.int64]]]] = {}
    for shape in link.visuals:
        vertices, faces = _triangles(shape)
        parts.setdefault(shape.rgba, []).append((vertices @ shape.rotation.T + shape.position, faces))
    return [_joined(pieces, rgba) for rgba, pieces in parts.items()]


def merged(meshes: Sequence[UrdfMesh], rgba: tuple[float, ...]) -> UrdfMesh:
    """Join meshes of one link into one mesh of one colour."""
    return _joined([(mesh.vertices, mesh.faces) for mesh in meshes], rgba)


def _joined(pieces: Sequence[tuple[Vector, NDArray[np.int64]]], rgba: tuple[float, ...]) -> UrdfMesh:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=False)]
    return UrdfMesh(np.concatenate([v for v, _ in pieces]), np.concatenate(faces), rgba)


def _triangles(shape: Shape) -> tuple[Vector, NDArray[np.int64]]:
    """Return vertices (v, 3) [m] and faces (f, 3) of a shape in its own axes."""
    import trimesh  # comes with viser

    if shape.kind == "box":
        mesh = trimesh.creation.box(extents=shape.size)
    elif shape.kind == "sphere":
        mesh = trimesh.creation.icosphere(radius=shape.size[0], subdivisions=2)
    else:
        make = trimesh.creation.capsule if shape.kind == "capsule" else trimesh.creation.cylinder
        mesh = make(radius=shape.size[0], height=shape.size[1], **({} if shape.kind == "capsule" else {"sections": 20}))
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)
