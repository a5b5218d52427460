"""A plan as a picture: gait diagram, footholds with support polygons and sway, margin over the cycle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.control.support import support_polygon
from hexapod_dynamics.core._core import SAMPLES, cycle_foot
from hexapod_dynamics.gait.planning.plan import PlanEvaluator
from hexapod_dynamics.robot import Morphology, Robot

if TYPE_CHECKING:
    from hexapod_dynamics.gait.planning.plan import GaitPlan


def draw(
    robot: Robot,
    plan: GaitPlan,
    path: str | os.PathLike[str],
    *,
    velocity: tuple[float, float, float] = (0.077, 0.0, 0.0),
) -> None:
    """Draw a GaitPlan of a Robot at a twist [m/s, m/s, rad/s] and write the picture to a file."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    lost = [name for name in robot.leg_names if name not in plan.legs]
    evaluator = PlanEvaluator(robot, Morphology.whole(robot).without(*lost) if lost else None)
    evaluator.accept(plan)
    rows = np.flatnonzero(evaluator.table["used"])
    phases = np.arange(SAMPLES) / SAMPLES
    course = evaluator.course(velocity)
    margins = course[:, 2]
    figure = Figure(figsize=(14, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)

    for k, i in enumerate(rows):
        begin = -evaluator.table["phase"][i] % 1.0
        for start in (begin - 1.0, begin):
            left.barh(k, plan.duty, left=start, height=0.6, color="tab:blue")
    left.set(xlim=(0, 1), yticks=range(len(rows)), yticklabels=plan.legs, xlabel="phase of the cycle")
    left.invert_yaxis()
    left.set_title(f"{plan.kind}: standing (blue) and swinging, period {plan.period:.2f} s")

    numbers = plan.numbers()
    colours = colormaps["viridis"]
    for phase in phases[::6]:
        standing = []
        for i in rows:
            x, y, _, stands = cycle_foot(numbers, evaluator.table, i, phase, *velocity)
            if stands:
                standing.append((x, y, 0.0))
        polygon = support_polygon(standing, [(0.0, 0.0, 1.0)] * len(standing))
        middle.fill(-polygon[:, 1], polygon[:, 0], fill=False, edgecolor=colours(phase), linewidth=0.8)
    for i, name in zip(rows, plan.legs, strict=True):
        path_of_foot = np.array([cycle_foot(numbers, evaluator.table, i, p, *velocity)[:2] for p in phases])
        middle.plot(-path_of_foot[:, 1], path_of_foot[:, 0], color="tab:gray", linewidth=2)
        x, y = plan.footholds[plan.legs.index(name)]
        middle.text(-y, x, name, ha="center", va="center", fontsize=9)
    middle.plot(-course[:, 1], course[:, 0], color="tab:red", linewidth=1.5)
    middle.set(aspect="equal", xlabel="right [m]", ylabel="forward [m]")
    middle.set_title("feet, support polygons, zero-moment point (red)")

    right.plot(phases, 1e3 * margins)
    right.axhline(0.0, color="black", linewidth=0.8)
    right.set(xlabel="phase of the cycle", ylabel="margin [mm]", xlim=(0, 1))
    right.set_title(f"margin of the zero-moment point, least {1e3 * margins.min():.1f} mm")
    vx, vy, wz = velocity
    figure.suptitle(f"{robot.name} without {' '.join(lost) or 'nothing'} at {vx} {vy} m/s, {wz} rad/s")
    figure.savefig(path, dpi=110)
