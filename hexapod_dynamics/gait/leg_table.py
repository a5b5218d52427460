"""The numbers of a robot's legs that compiled gaits read: one row a leg, for the robot as it is now."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.kernel_layout import columns, struct
from hexapod_dynamics.kinematics import link_lengths
from hexapod_dynamics.kinematics.three_joint_leg import knee_cosines
from hexapod_dynamics.robot import Morphology, Robot

# Columns of a row: rotation leg <- base (9), mount (3), lengths (3), joint limits (3 + 3), knee cosines (2), whether
# each joint is free (3), angles of the joints that are not (3), link masses (3), positions of their centres of mass as
# a fraction of the link (3); then the leg's part of the plan: whether it walks, phase, foothold (x, y), joint angles
# while it is held up (3).
LEG = struct(
    to_leg=9,
    mount=3,
    lengths=3,
    lower=3,
    upper=3,
    knee=2,
    free=3,
    held=3,
    mass=3,
    centre=3,
    used=1,
    phase=1,
    foothold=2,
    rest=3,
)
TO_LEG, MOUNT, LENGTHS, LOWER, UPPER, KNEE, FREE, HELD, MASS, CENTRE, USED, PHASE, FOOTHOLD, REST, COLUMNS = columns(
    LEG
)


def leg_table(robot: Robot, morphology: Morphology | None = None) -> np.ndarray:
    """Return the rows (legs, COLUMNS) of a Robot with a Morphology; no leg walks yet.

    Missing links have no mass; links are as long as in the intact robot unless they are shortened. Raises
    HexapodError for a leg that does not consist of coxa, femur and tibia.
    """
    table = np.zeros((len(robot.legs), COLUMNS))
    for row, leg in zip(table, robot.legs, strict=True):
        row[LENGTHS:LOWER] = link_lengths(leg)
        row[TO_LEG:MOUNT] = np.asarray(leg.mount_rotation, float).T.ravel()
        row[MOUNT:LENGTHS] = leg.mount_position
        row[LOWER:UPPER], row[UPPER:KNEE] = zip(*(joint.planned_range for joint in leg.joints), strict=True)
        row[KNEE:FREE] = knee_cosines(leg.joints[2].lower, leg.joints[2].upper)
        row[FREE:HELD] = 1.0
        row[MASS:CENTRE] = [link.mass for link in leg.links]
        row[CENTRE:USED] = [link.com[0] / link.length if link.length > 0.0 else 0.0 for link in leg.links]
        if morphology is None:
            continue
        for k, link in enumerate(leg.links):
            remaining = morphology.remaining(leg.name, link.name)
            row[MASS + k] *= remaining
            if remaining > 0.0:
                row[LENGTHS + k] *= remaining
            angle = morphology.locked_angle(leg.name, link.name)
            if angle is not None:
                row[FREE + k], row[HELD + k] = 0.0, angle
    return table


def neutral_foothold(row: Any) -> np.ndarray:
    """Return the place (x, y) [m] in base_link of a foot whose tibia stands upright, straight ahead of its hip."""
    radius = row[LENGTHS] + row[LENGTHS + 1]
    return row[MOUNT : MOUNT + 2] + radius * row[TO_LEG : TO_LEG + 2]
