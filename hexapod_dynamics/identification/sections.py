"""Finds in one recording the part of a suspended exercise and that of a standing one, from the commands alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification.footing import feet_and_jacobians, standing_feet
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]
WINDOW = 2.0  # [s]
MOVES = 0.02  # [rad] by which a joint moves in a window
RIGID = 2e-3  # [m] by which distances between standing feet change in a window at most
GAP = 6.0  # [s] of other windows within a section


def split(robot: Robot, recording: Recording) -> tuple[Recording | None, Recording | None]:
    """Return the suspended and the standing part, None for a part that does not exist.

    Suspended: in windows of WINDOW at most one joint of each leg moves, and feet move against each other. Standing: a
    joint moves, and the same feet, three or more, stand all the while and move against each other by no more than
    RIGID. Walking is neither.
    """
    times = recording.command_time
    if len(times) < 2:
        return None, None
    model = WholeBodyModel(robot)
    edges = np.arange(times[0], times[-1], WINDOW)
    kinds = np.array([_kind(robot, model, recording, begin) for begin in edges])
    parts: list[Recording | None] = []
    for kind in ("suspended", "standing"):
        found = edges[kinds == kind]
        if len(found) == 0:
            parts.append(None)
            continue
        groups = np.split(found, np.flatnonzero(np.diff(found) > GAP) + 1)
        longest = max(groups, key=lambda group: group[-1] - group[0])
        parts.append(recording.between(longest[0] - 0.5 * WINDOW, longest[-1] + 1.5 * WINDOW))
    return parts[0], parts[1]


def _kind(robot: Robot, model: WholeBodyModel, recording: Recording, begin: float) -> str:
    """Return the kind of a window: suspended, standing, or other."""
    inside = (recording.command_time >= begin) & (recording.command_time < begin + WINDOW)
    rows = recording.commands[inside][::5]
    if len(rows) < 3:
        return ""
    moves = np.ptp(rows, axis=0) > MOVES
    if not moves.any():
        return ""
    feet = feet_and_jacobians(robot, model, rows)[0]
    stand = np.all([standing_feet(row) for row in feet], axis=0)
    some = feet[:, stand]
    distances = np.linalg.norm(some[:, :, None] - some[:, None], axis=-1)
    if stand.sum() >= 3 and np.ptp(distances, axis=0).max() <= RIGID:
        return "standing"
    single = all(moves[list(robot.leg_joints(leg.name))].sum() <= 1 for leg in robot.legs)
    return "suspended" if single else ""
