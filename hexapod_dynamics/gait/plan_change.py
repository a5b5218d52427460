"""Change of plan while the robot walks: whether the feet carry the body, and the phase at which the new plan starts."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import cycle, leg_table
from hexapod_dynamics.gait.planning.evaluation import hull_margin, link_points
from hexapod_dynamics.robot import Robot

# The stance holds for a change of plan without sitting down if the centre of mass is this far [m] inside the polygon of
# all feet that are left.
HOLDS = 0.015


def stance_holds(robot: Robot, walk: layout.Walk, legs: tuple[str, ...]) -> bool:
    """Return whether the feet of these legs (names), set down where they are, carry the body."""
    names = robot.leg_names
    feet = np.array([walk.feet[names.index(name), :2] for name in legs])
    points = feet - walk.state[layout.FROM_SWAY : layout.FROM_SWAY + 2]
    return bool(hull_margin(points, len(points), *center_of_mass(robot, walk)) >= HOLDS)


def center_of_mass(robot: Robot, walk: layout.Walk) -> np.ndarray:
    """Return the centre of mass (2,) [m] of the robot in base_link at the present set-points."""
    table = walk.legs
    total, moment, centres = robot.body.mass, robot.body.mass * robot.body.com[:2], np.zeros((3, 3))
    for i, row in enumerate(table):
        link_points(table, i, *walk.position[3 * i : 3 * i + 3], centres, 0, np.zeros(6))
        masses = row[leg_table.MASS : leg_table.CENTRE]
        total += masses.sum()
        moment += masses @ centres[:, :2]
    return moment / total


def continue_from(walk: layout.Walk, sway: tuple[float, float], up: float) -> None:
    """Let sway (2,) and height `up` [m] that the body had under the plan before pass into those of the new one."""
    state = walk.state
    state[layout.FROM_SWAY : layout.FROM_SWAY + 2], state[layout.WEIGHT] = sway, 0.0
    state[layout.HEIGHT_NOW] += up
    state[layout.FAST] = 1.0


def best_phase(walk: layout.Walk) -> float:
    """Return the phase of the plan at which its feet are nearest to where the feet are now."""
    twist = walk.state[layout.GOING : layout.GOING + 3]
    sway = walk.state[layout.FROM_SWAY : layout.FROM_SWAY + 2]
    best, least = 0.0, np.inf
    for phase in np.arange(48) / 48.0:
        there = np.array([cycle.sway(walk.plan, phase, axis, *twist)[0] for axis in range(2)])
        miss = 4.0 * np.square(there - sway).sum()
        for i in np.flatnonzero(walk.legs[:, leg_table.USED]):
            x, y, _, _ = cycle.cycle_foot(walk.plan, walk.legs, i, phase, *twist)
            miss += (x - walk.feet[i, layout.X]) ** 2 + (y - walk.feet[i, layout.Y]) ** 2
        if miss < least:
            best, least = phase, miss
    return best
