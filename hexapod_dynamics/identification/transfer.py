"""Adapts plans and manoeuvres of a robot to another robot of the same shape with other masses, such as an
identified one.

A plan keeps its phases and its sway; its feet move under the body by the shift of the zero-moment point, and its
margin is computed again. A plan with less than the least margin that a search accepts is left out. A manoeuvre of
getting up was found under masses of 0.9 to 1.1 times the robot's and works from LIGHTEST to HEAVIEST
(docs/results/get_up.md).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import GaitPlan, PlanEvaluator
from hexapod_dynamics.gait.planning.search import SHARES, Search, make_demands
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.robot import Morphology, Robot

LIGHTEST, HEAVIEST = 0.85, 1.3  # multiples of the mass of the robot for which a manoeuvre was made


def transfer_library(library: PlanLibrary, robot: Robot) -> tuple[PlanLibrary, list[tuple[str, ...]]]:
    """Return the plans of a library for another Robot, and the sets of lost legs whose plans are not usable there.

    Mirror images become separate plans, because the masses of the other robot's sides may differ. Raises
    HexapodError if the robots differ in more than masses and servos.
    """
    _check_shape(library.robot, robot)
    kept, left = PlanLibrary(robot), []
    for plan in library.with_images():
        moved = transfer_plan(library.robot, robot, plan)
        if moved is None:
            left.append(tuple(name for name in robot.leg_names if name not in plan.legs))
        else:
            kept.add(moved)
    return kept, left


def transfer_plan(robot: Robot, other: Robot, plan: GaitPlan) -> GaitPlan | None:
    """Return a robot's plan for another robot of the same shape; None if its margin is too small there."""
    shift = _middle(other, plan) - _middle(robot, plan)
    moved = plan.shift(*shift.tolist())
    for share in SHARES:
        before = compute_margin(robot, plan, share)
        if before >= 0.9 * plan.margin:  # else the plan was made for a smaller share of the speeds
            left = compute_margin(other, moved, share)
            least = make_demands(other, len(plan.legs), share).least_margin
            return dataclasses.replace(moved, margin=left) if left >= least else None
    return None


def transfer_manoeuvres(library: GetUpLibrary, robot: Robot) -> GetUpLibrary:
    """Return the manoeuvres of a library for another Robot; HexapodError tells why they cannot be used."""
    _check_shape(library.robot, robot)
    ratio = robot.mass / library.robot.mass
    if not LIGHTEST <= ratio <= HEAVIEST:
        raise HexapodError(
            f"robot {robot.name} has {ratio:.2f} times the mass of {library.robot.name}; its manoeuvres are known to "
            f"work from {LIGHTEST} to {HEAVIEST}"
        )
    return GetUpLibrary(robot, library)


def _check_shape(robot: Robot, other: Robot) -> None:
    if robot.leg_names != other.leg_names:
        raise HexapodError(f"robots {robot.name} and {other.name} have different legs")
    one, two = leg_table(robot), leg_table(other)
    fields = [name for name in one.dtype.fields or () if name not in ("mass", "centre")]
    apart = np.max([np.abs(one[name] - two[name]).reshape(len(one), -1).max(axis=1) for name in fields], axis=0)
    if apart.max() > 1e-6:  # [m, rad]: numbers of a robot file are rounded
        leg = robot.leg_names[int(np.argmax(apart))]
        raise HexapodError(f"robots {robot.name} and {other.name} differ in shape, as in leg {leg}")
    if not np.allclose(robot.body.box, other.body.box, atol=1e-6):
        raise HexapodError(f"robots {robot.name} and {other.name} differ in the body's box")


def _middle(robot: Robot, plan: GaitPlan) -> np.ndarray:
    """Return the mean zero-moment point (x, y) [m] of a plan on the spot, without the legs that it does not use."""
    lost = [name for name in robot.leg_names if name not in plan.legs]
    evaluator = PlanEvaluator(robot, Morphology.whole(robot).without(*lost))
    evaluator.accept(plan)
    evaluator.findings(np.zeros(3))
    return np.asarray(evaluator.course[:, :2].mean(axis=0))


def compute_margin(robot: Robot, plan: GaitPlan, share: float) -> float:
    """Return the least margin [m] of a plan over a share of the twists for which plans on so many legs are made."""
    wanted = make_demands(robot, len(plan.legs), share)
    return min(found.margin for found in Search(robot, plan.legs, wanted, height=plan.height).evaluate(plan))
