"""Textbook gaits as plans, without search: the tripod, the ripple and the wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hexapod_dynamics.gait.leg_table import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Robot

# Share of the cycle in which a leg of the tripod stands: slightly more than half, so that one group touches down before
# the other lifts off.
TRIPOD_DUTY, HEIGHT, LIFT = 0.53, 0.12, 0.02


def tripod_plan(robot: Robot) -> GaitPlan | None:
    """Return the tripod of an intact robot; None if its groups have fewer than three legs each."""
    groups = [leg.tripod_group for leg in robot.legs]
    if min(groups.count(1), groups.count(2)) < 3:
        return None
    phases = [0.0 if group == 1 else 0.5 for group in groups]
    return _plan(robot, robot.leg_names, phases, TRIPOD_DUTY, 1.2)


def pattern_plan(robot: Robot, pattern: Any, lost: Sequence[str] = ()) -> GaitPlan | None:
    """Return the wave or the ripple for the remaining legs: neutral footholds, no sway, evenly spaced phases.

    The legs of a side swing one after the other from the rear to the front; in the wave one side follows the
    other, in the ripple the sides are half a cycle apart. Returns None with fewer than four legs.
    """
    names = [name for name in robot.leg_names if name not in lost]
    if len(names) < 4:
        return None
    place = {leg.name: leg.mount_position for leg in robot.legs}
    right = sorted((name for name in names if place[name][1] < 0.0), key=lambda name: place[name][0])
    left = sorted((name for name in names if place[name][1] >= 0.0), key=lambda name: place[name][0])
    count = len(names)
    if pattern == "wave":
        order = [*right, *left]
        # The leg that swings k-th touches down at (k + 1) / count.
        phase = {name: -(k + 1) / count % 1.0 for k, name in enumerate(order)}
        duty = 1.0 - 1.0 / count + 0.01
    else:
        phase = {name: -(k + 1) / max(1, len(right)) % 1.0 for k, name in enumerate(right)}
        phase |= {name: (0.5 - (k + 1) / max(1, len(left))) % 1.0 for k, name in enumerate(left)}
        duty = 1.0 - 1.0 / max(1, min(len(right), len(left)))
        duty = max(duty, 0.55)
    return _plan(robot, names, [phase[name] for name in names], duty, 1.6)


def _plan(robot: Robot, names: Any, phases: Any, duty: Any, period: float) -> GaitPlan:
    table = leg_table(robot)
    rows = [table[robot.leg_names.index(name)] for name in names]
    return GaitPlan(
        kind="walk",
        legs=tuple(names),
        phases=tuple(phases),
        footholds=tuple(tuple(float(v) for v in neutral_foothold(row)) for row in rows),
        duty=duty,
        period=period,
        height=min(HEIGHT, float(table["lengths"][:, 2].min())),
        lift=LIFT,
        sway=(0.0,) * 32,
        margin=0.03,
    )
