"""Chooses the plan of the adaptive gait by the legs that can walk: from the library, or made in the background."""

from __future__ import annotations

import os
import warnings

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait.leg_table import leg_table
from hexapod_dynamics.gait.out_of_the_way import turn_away
from hexapod_dynamics.gait.packaged import file_of
from hexapod_dynamics.gait.planning.background_planner import BackgroundPlanner
from hexapod_dynamics.gait.planning.patterns import pattern_plan, tripod_plan
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.gait.rest_pose import rest_pose
from hexapod_dynamics.robot import Morphology, Robot

# A leg whose femur and tibia are shorter than this share of their intact length does not reach the ground well enough.
USABLE = 0.88


def find_library(robot: Robot, plans: PlanLibrary | str | os.PathLike[str] | None) -> PlanLibrary:
    """Return the given library, or read it from a path; for None, return plans_NAME.yaml beside the robot's own file,
    else that of the package, empty if there is none for the robot.

    If the robot has the name of one of the package's robots but other parameters, the library is empty, with a
    RobotWarning. Raises HexapodError for a file beside the robot's own that is another robot's.
    """
    if isinstance(plans, PlanLibrary):
        return plans
    if plans is not None:
        return PlanLibrary.load(robot, plans)
    path, own = file_of(robot, "plans")
    try:
        return PlanLibrary(robot) if path is None else PlanLibrary.load(robot, path)
    except HexapodError as error:
        if own:
            raise
        warnings.warn(f"{error}; none of these plans is used", RobotWarning, stacklevel=4)
        return PlanLibrary(robot)


def held_up(robot: Robot, morphology: Morphology | None, rows: np.ndarray) -> list[str]:
    """Return the names of the legs that do not walk: incomplete, too short, or with a damaged joint.

    A leg with a locked or limp joint does not walk; `JointKind.leg_walks` decides this for other kinds of damage.

    rows: the robot's `leg_table` for this morphology.
    """
    if morphology is None:
        return []
    out = []
    for leg, row in zip(robot.legs, rows, strict=True):
        broken = any(
            not morphology.has_link(leg.name, link.name)
            or ((damage := morphology.joint_damage(leg.name, link.name)) is not None and not damage.kind.leg_walks)
            for link in leg.links
        )
        whole = sum(link.length for link in leg.links[1:])
        if broken or row["lengths"][1:].sum() < USABLE * whole:
            out.append(leg.name)
    return out


def weight_shift(robot: Robot, table: np.ndarray, legs: list[int]) -> np.ndarray:
    """Return the shift (2,) [m] of the centre of mass by legs (rows of the table) that are held up."""
    total = robot.body.mass + table["mass"].sum()
    moment = np.zeros(2)
    for i in legs:
        centres, _ = _core.link_points(table, i, table["rest"][i])
        moment += table["mass"][i] @ centres[:, :2]
    return moment / total


def present_legs(robot: Robot, morphology: Morphology | None) -> tuple[np.ndarray, list[str]]:
    """Return a robot's `leg_table` with the poses in which legs are held up, and the names of the legs that must
    be held up.
    """
    table = leg_table(robot, morphology)
    held = held_up(robot, morphology, table)
    for row, leg in zip(table, robot.legs, strict=True):
        limp = [morphology is not None and morphology.is_limp(leg.name, link.name) for link in leg.links]
        row["rest"] = rest_pose(row, limp)
    return table, held


class PlanChoice:
    """Finds the plan for the legs that can walk.

    planner: makes a plan that the library does not have; None: such plans are not made. why: the reason why there
    is no plan, empty if there is one.
    """

    def __init__(self, robot: Robot, library: PlanLibrary, planner: BackgroundPlanner | None) -> None:
        self.robot, self.library, self.planner = robot, library, planner
        self.why = ""

    def choose(
        self, pattern: str, lost: list[str], morphology: Morphology | None, table: np.ndarray
    ) -> GaitPlan | None:
        """Return the plan without the lost legs, shifted by their weight; None (and `why`) if there is none.

        pattern: "auto", or "wave" or "ripple": these gaits on the remaining legs. table: that of `present_legs`;
        the coxa angles at which legs are held up, out of the way of the others, are written to it.
        """
        plan, self.why = self._find(pattern, lost, morphology)
        if plan is None or not lost:
            return plan
        names, legs = self.robot.leg_names, self.robot.legs
        held = [names.index(name) for name in lost]
        limp = [i for i in held if morphology is not None and morphology.is_limp(names[i], legs[i].link_names[0])]
        turn_away(self.robot, plan, table, held, limp)
        return plan.shifted(*weight_shift(self.robot, table, held))

    def _find(self, pattern: str, lost: list[str], morphology: Morphology | None) -> tuple[GaitPlan | None, str]:
        left = len(self.robot.legs) - len(lost)
        if pattern != "auto":
            plan = pattern_plan(self.robot, pattern, lost)
            return plan, "" if plan is not None else f"{left} legs left: a {pattern} needs four; sitting"
        if not lost:
            plan = tripod_plan(self.robot)
            if plan is not None:
                return plan, ""
        plan = self.library.find(lost) if left > 1 else None
        if plan is not None:
            return plan, ""
        if left < 3:
            return None, f"{left} legs left: fewer than 3 cannot walk, and no plan rows on these; sitting"
        why = f"no plan for the robot without {', '.join(lost) or 'a tripod'}; sitting"
        if self.planner is not None:
            self.planner.ask(self.robot, lost, morphology or Morphology.whole(self.robot))
            why += " while it is made in the background"
        return None, why

    def new_plan(self) -> bool:
        """Add a plan that was made in the background to the library; return whether there was one."""
        made = None if self.planner is None or not self.planner.busy else self.planner.poll()
        if isinstance(made, str):
            if self.why:  # else there is a plan now, for other legs
                self.why = made
            return False
        if made is None:
            return False
        self.library.add(made)
        return True
