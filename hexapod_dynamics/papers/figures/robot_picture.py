"""A plain picture of the robot: body box, legs, feet on the ground, seen from a direction, parallel projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.link_tree import LinkTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEG, GROUND, FOOT = "#0b6e99", "#e9e4d8", "#d1495b"
# Faces of the box as corners 0..7 (bits: x, y, z).
FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


def skeleton(morphology: Morphology, q: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Return, for each leg that is left, its name and the points (k + 1, 3) [m] of its joints and end in base_link.

    q (n,) [rad or m].
    """
    tree, chains = LinkTree(morphology.robot, morphology), []
    poses = tree.base_poses(q)
    for leg in morphology.robot.legs:
        frames = [branch.child for branch in tree.branches if branch.leg == leg.name]
        if frames:
            chains.append((leg.name, np.array([poses[frame][:3, 3] for frame in frames])))
    return chains


def view(azimuth: float, elevation: float) -> np.ndarray:
    """Return the rotation (3, 3) world -> picture (right, up, towards the eye); angles in degrees."""
    a, e = np.radians([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    eye = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return np.array([right, np.cross(eye, right), eye])


def draw(
    axis: Axes,
    morphology: Morphology,
    position: np.ndarray,
    rotation: np.ndarray,
    q: np.ndarray,
    forces: np.ndarray,
    *,
    azimuth: float = -150.0,
    elevation: float = 22.0,
    tile: float = 0.1,
) -> None:
    """Draw the robot on a matplotlib axis; forces (legs, 3) [N] show which feet stand. Tiles [m] are fixed in the
    world.
    """
    looking = view(azimuth, elevation)

    def flat(points: np.ndarray | list) -> np.ndarray:
        return (np.atleast_2d(points) @ looking.T)[:, :2].T

    reach = 0.3
    offset = tile * np.round(position[:2] / tile)
    for k in range(-3, 4):
        for ends in (
            np.array([[k * tile, -reach, 0.0], [k * tile, reach, 0.0]]),
            np.array([[-reach, k * tile, 0.0], [reach, k * tile, 0.0]]),
        ):
            axis.plot(*flat(ends + [*offset, 0.0]), color=GROUND, lw=1.0, zorder=0)
    half = morphology.robot.body.box / 2
    corners = half * np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)])
    corners = position + corners @ rotation.T
    parts = []
    for face in FACES:
        polygon = corners[list(face)]
        normal = np.cross(polygon[1] - polygon[0], polygon[3] - polygon[0])
        normal *= np.sign(normal @ (polygon.mean(axis=0) - position))
        if normal @ looking[2] > 0:
            light = 0.78 + 0.22 * normal[2] / np.linalg.norm(normal)
            parts.append((polygon.mean(axis=0) @ looking[2], "face", polygon, light))
    names = morphology.robot.leg_names
    for name, points in skeleton(morphology, q):
        points = position + points @ rotation.T
        standing = forces[names.index(name), 2] > 0.0
        parts.append((points.mean(axis=0) @ looking[2], "leg", points, standing))
    for depth, kind, points, mark in sorted(parts, key=lambda part: part[0]):
        order = 2.0 + depth
        if kind == "face":
            shade = np.array([0.79, 0.81, 0.84]) * mark
            axis.fill(*flat(points), facecolor=shade, edgecolor="#6b7280", lw=0.8, zorder=order)
        else:
            axis.plot(*flat(points * [1.0, 1.0, 0.0]), color="#000000", alpha=0.10, lw=3.0, zorder=0.5)
            axis.plot(*flat(points), color=LEG, lw=2.4, solid_capstyle="round", marker="o", ms=2.6, zorder=order)
            if mark:
                axis.plot(*flat(points[-1]), "o", color=FOOT, ms=4.5, zorder=order + 0.01)
    axis.set_aspect("equal")
    axis.set_axis_off()
