"""The legs of a robot as gaits see them: their numbers for the core, and how those that do not walk are held up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import require_instance
from hexapod_dynamics.kinematics import knee_cosines, link_lengths
from hexapod_dynamics.robot import Morphology, Robot


def leg_table(robot: Robot, morphology: Morphology | None = None) -> np.ndarray:
    """Return the rows (legs,) of `_core.GAIT_LEG` (core/gait.h) of a Robot with a Morphology; no leg walks yet.

    Missing links have no mass; links are as long as in the intact robot unless they are shortened. Raises
    HexapodError for a leg that does not consist of coxa, femur and tibia, and for another robot's morphology.
    """
    require_instance("robot", robot, Robot)
    table = _intact_table(robot).copy()
    if morphology is None:
        return table
    Morphology.check(robot, morphology)
    for row, leg in zip(table, robot.legs, strict=True):
        for k, link in enumerate(leg.links):
            remaining = morphology.remaining(leg.name, link.name)
            row["mass"][k] *= remaining
            if remaining > 0.0:
                row["lengths"][k] *= remaining
            angle = morphology.locked_angle(leg.name, link.name)
            if angle is not None:
                row["free"][k], row["held"][k] = 0.0, angle
    return table


@lru_cache(maxsize=16)
def _intact_table(robot: Robot) -> np.ndarray:
    """Return the `leg_table` of an intact robot, which is read only: a robot never changes."""
    table = np.zeros(len(robot.legs), _core.GAIT_LEG)
    for row, leg in zip(table, robot.legs, strict=True):
        row["lengths"] = link_lengths(leg)
        row["to_leg"] = np.asarray(leg.mount_rotation, float).T.ravel()
        row["mount"] = leg.mount_position
        row["lower"], row["upper"] = zip(*(joint.planned_range for joint in leg.joints), strict=True)
        row["knee"] = knee_cosines(leg.joints[2].lower, leg.joints[2].upper)
        row["free"] = 1.0
        row["mass"] = [link.mass for link in leg.links]
        row["centre"] = [link.com[0] / link.length if link.length > 0.0 else 0.0 for link in leg.links]
    return table


def neutral_foothold(row: np.ndarray) -> np.ndarray:
    """Return the place (x, y) [m] in base_link of a foot whose tibia stands upright, straight ahead of its hip."""
    return row["mount"][:2] + (row["lengths"][0] + row["lengths"][1]) * row["to_leg"][:2]


def rest_pose(row: np.ndarray, limp: Sequence[bool] = (False, False, False)) -> np.ndarray:
    """Return the joint angles (3,) [rad] at which a leg is held up, for its row of a leg table.

    The angles of free joints are chosen so that knee and foot are high and near to the body; a locked joint keeps
    its angle; a limp joint hangs: the tibia straight down from its knee, the femur with the centre of mass of what
    it carries below its axis.
    """
    lower, upper, free = row["lower"], row["upper"], row["free"] != 0.0
    l1, l2, l3 = row["lengths"]
    coxa = 0.0 if free[0] else row["held"][0]
    femurs = np.linspace(lower[1], min(upper[1], 1.6), 81) if free[1] else np.array([row["held"][1]])
    tibias = np.linspace(max(lower[2], -1.45), upper[2], 71) if free[2] else np.array([row["held"][2]])
    femur, tibia = np.meshgrid(femurs, tibias, indexing="ij")
    if limp[1] and limp[2]:
        femur = np.full_like(femur, max(lower[1], -0.5 * np.pi))
    elif limp[1]:
        # Angle of the centre of mass of femur and tibia, seen from the hip, at femur angle 0; a limp femur has it
        # straight down.
        m2, m3 = row["mass"][1], max(row["mass"][2], 1e-9)
        r = m2 * row["centre"][1] * l2 + m3 * (l2 + row["centre"][2] * l3 * np.sin(tibia))
        z = -m3 * row["centre"][2] * l3 * np.cos(tibia)
        femur = np.clip(-0.5 * np.pi - np.arctan2(z, r), lower[1], upper[1])
    if limp[2]:
        tibia = np.clip(-femur, lower[2], upper[2])
    knee = l2 * np.sin(femur)
    foot = knee - l3 * np.cos(femur + tibia) if row["mass"][2] > 0.0 else knee
    radius = l1 + l2 * np.cos(femur) + l3 * np.sin(femur + tibia)
    out = np.abs(radius - (l1 + 0.5 * l2))  # penalty for a foot over the body or far out
    score = np.minimum(np.minimum(knee, foot), 0.03) - 0.15 * out - 0.05 * np.maximum(knee, foot)
    k = np.unravel_index(np.argmax(score), score.shape)
    return np.array([coxa, femur[k], tibia[k]])


def link_lines(row: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the ends (links, ..., 6) [m] of a leg's links in base_link, at joint angles (..., 3) [rad]; row: of a leg
    table. Missing links are left out.
    """
    l1, l2, l3 = row["lengths"]
    q1, q2, q3 = np.moveaxis(angles, -1, 0)
    zero, knee = np.zeros_like(q1), l1 + l2 * np.cos(q2)
    out = np.array([zero, zero + l1, knee, knee + l3 * np.sin(q2 + q3)])
    up = np.array([zero, zero, l2 * np.sin(q2), l2 * np.sin(q2) - l3 * np.cos(q2 + q3)])
    points = np.stack([out * np.cos(q1), out * np.sin(q1), up], axis=-1) @ row["to_leg"].reshape(3, 3) + row["mount"]
    return np.concatenate([points[:-1], points[1:]], axis=-1)[row["mass"] > 0.0]


def leg_moments(table: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the first moments m (cx, cy) (legs, 2) [kg m] of legs at joint angles (legs, 3) [rad], in base_link."""
    centres = [_core.link_centres(table, i, angles[i])[:, :2] for i in range(len(table))]
    return np.einsum("ij,ijk->ik", table["mass"], centres)


def prepare_legs(robot: Robot, morphology: Morphology | None) -> tuple[np.ndarray, list[str]]:
    """Return a robot's `leg_table` with the poses in which legs are held up, and the names of those that are, because
    they are incomplete, too short, or have a damaged joint with which no leg walks (`JointKind.leg_walks`).
    """
    table, held = leg_table(robot, morphology), []
    present = Morphology.whole(robot) if morphology is None else morphology
    for row, leg in zip(table, robot.legs, strict=True):
        damages = [present.joint_damage(leg.name, link.name) for link in leg.links]
        broken = not all(present.has_link(leg.name, link.name) for link in leg.links)
        whole = sum(link.length for link in leg.links[1:])
        short = row["lengths"][1:].sum() < 0.88 * whole  # it does not reach the ground well enough
        if broken or short or any(damage is not None and not damage.kind.leg_walks for damage in damages):
            held.append(leg.name)
        row["rest"] = rest_pose(row, [damage is not None and damage.limp for damage in damages])
    return table, held
