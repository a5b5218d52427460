"""The numbers of a robot's legs that compiled gaits read: one struct a leg, for the robot as it is now."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.kinematics import knee_cosines, link_lengths
from hexapod_dynamics.robot import Morphology, Robot


def leg_table(robot: Robot, morphology: Morphology | None = None) -> np.ndarray:
    """Return the rows (legs,) of `_core.GAIT_LEG` (core/gait.h) of a Robot with a Morphology; no leg walks yet.

    Missing links have no mass; links are as long as in the intact robot unless they are shortened. Raises
    HexapodError for a leg that does not consist of coxa, femur and tibia.
    """
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
        if morphology is None:
            continue
        for k, link in enumerate(leg.links):
            remaining = morphology.remaining(leg.name, link.name)
            row["mass"][k] *= remaining
            if remaining > 0.0:
                row["lengths"][k] *= remaining
            angle = morphology.locked_angle(leg.name, link.name)
            if angle is not None:
                row["free"][k], row["held"][k] = 0.0, angle
    return table


def neutral_foothold(row: Any) -> np.ndarray:
    """Return the place (x, y) [m] in base_link of a foot whose tibia stands upright, straight ahead of its hip."""
    return row["mount"][:2] + (row["lengths"][0] + row["lengths"][1]) * row["to_leg"][:2]
