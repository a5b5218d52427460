"""Turns the coxas of legs that are held up away from the legs that walk past them.

A leg that has lost only its tibia, or a joint, keeps its coxa and femur. In plans for few legs the neighbour's
femur swings through the place where such a leg would be held up, straight ahead of its hip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.core._core import least_distance
from hexapod_dynamics.gait.planning.evaluator import PlanEvaluator
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Robot

# Sufficient distance [m] of the centre lines of two legs; links are 24 mm thick (robot/mjcf.py).
ENOUGH = 0.045
# Coxa angles [rad] that are tried in this order; the first with sufficient distance is used.
TURNS = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9, 1.2, -1.2)
# Twists of the walk for which the distance is computed [m/s, m/s, rad/s].
TWISTS = ((0.077, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.2))
_EVERY = 3  # every third sample of the cycle


def turn_away(robot: Robot, plan: GaitPlan, table: np.ndarray, held: Sequence[int], fixed: Sequence[int] = ()) -> None:
    """Write the coxa angles of legs that are held up into a leg table (legs,).

    held: their rows; fixed: those of them whose coxa cannot be commanded, for example a limp one. Each leg turns
    by the least angle for which its links are ENOUGH away from its neighbours in a steady walk at all TWISTS, or
    else as far away as possible.
    """
    count = len(table)
    here = [i for i in held if table["mass"][i, 0] > 0.0]
    if not here:
        return
    evaluator = PlanEvaluator(robot)
    evaluator.table[:] = table
    evaluator.take(plan)
    angles = []
    for twist in TWISTS:
        evaluator.findings(np.array(twist))
        angles.append(evaluator.cycle.angles[::_EVERY].copy())
    walking = np.concatenate(angles)  # (samples, legs, 3)
    for i in here:
        row = table[i]
        if i in fixed or row["free"][0] == 0.0:
            continue
        others = []
        for j in ((i + 1) % count, (i - 1) % count):
            if table["mass"][j, 0] > 0.0:
                rest = table["rest"][j : j + 1]
                others.append(_links(table[j], rest if j in held else walking[:, j]))
        neighbours = np.concatenate(others) if others else np.empty((0, 6))
        best, chosen = -1.0, row["rest"][0]
        for turn in TURNS:
            if row["lower"][0] <= turn <= row["upper"][0]:
                pose = np.array([[turn, *row["rest"][1:]]])
                clear = least_distance(_links(row, pose), neighbours)
                if clear > best:
                    best, chosen = clear, turn
                if clear >= ENOUGH:
                    break
        row["rest"][0] = chosen


def _links(row: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the ends of a leg's links in base_link, (N links, 6) [m], at joint angles (N, 3); row: of the leg table.

    Missing links are left out.
    """
    l1, l2, l3 = row["lengths"]
    q1, q2, q3 = angles.T
    zero, knee = np.zeros(len(angles)), l1 + l2 * np.cos(q2)
    out = np.array([zero, zero + l1, knee, knee + l3 * np.sin(q2 + q3)])
    up = np.array([zero, zero, l2 * np.sin(q2), l2 * np.sin(q2) - l3 * np.cos(q2 + q3)])
    points = np.stack([out * np.cos(q1), out * np.sin(q1), up], axis=-1)  # (4, N, 3): hip, coxa's end, knee, foot
    points = points @ row["to_leg"].reshape(3, 3) + row["mount"]
    links = int((row["mass"] > 0.0).sum())
    return np.concatenate([points[:links], points[1 : links + 1]], axis=-1).reshape(-1, 6)
