"""Chooses the plan of the adaptive gait by the legs that can walk: from the library, or made in the background; holds
the other legs up out of the way.

A leg that has lost only its tibia, or a joint, keeps its coxa and femur. In plans for few legs the neighbour's femur
swings through the place where such a leg would be held up, straight ahead of its hip: then its coxa turns away.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.background import BackgroundCall
from hexapod_dynamics.core._core import least_distance
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import link_lines, weight_shift
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import GaitPlan, PlanEvaluator, pattern_plan, tripod_plan
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section


def find_library(robot: Robot, plans: PlanLibrary | str | os.PathLike[str] | None) -> PlanLibrary:
    """Return the given library, or read it from a path; for None that of the robot, see `RobotLibrary.of_robot`."""
    if isinstance(plans, PlanLibrary):
        return plans
    if plans is not None:
        return PlanLibrary.load(robot, plans)
    return PlanLibrary.of_robot(robot, stacklevel=5)


class BackgroundPlanner(BackgroundCall[GaitPlan]):
    """Makes one plan at a time, in a process."""

    def __init__(self) -> None:
        super().__init__("hexapod_dynamics.gait.planning.search:make_plan", checked_plan)

    def ask(self, robot: Robot, lost: Sequence[str], morphology: Morphology) -> None:
        """Start to make the plan of a Robot with a Morphology, without the legs `lost` (names)."""
        self.start(robot, tuple(lost), morphology)


def checked_plan(answer: object, robot: Robot, lost: Sequence[str], _morphology: Morphology) -> GaitPlan:
    """Return the GaitPlan that was asked for; HexapodError for anything else."""
    plan = GaitPlan.read(robot, Section(answer, "the plan that was made"))
    if set(plan.legs) & set(lost):
        raise HexapodError(f"the plan that was made walks on {', '.join(plan.legs)}, without {', '.join(lost)} asked")
    return plan


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
        if made is None:
            return False
        plan, reason = made
        if plan is None:
            self.why = reason if self.why else ""  # else there is a plan now, for other legs
            return False
        self.library.add(plan)
        return True


def turn_away(robot: Robot, plan: GaitPlan, table: np.ndarray, held: Sequence[int], fixed: Sequence[int] = ()) -> None:
    """Write the coxa angles of legs that are held up into a leg table (legs,).

    held: their rows; fixed: those of them whose coxa cannot be commanded, for example a limp one. Each leg turns
    by the least angle for which its links are far enough from its neighbours in a steady walk at several twists, or
    else as far away as possible.
    """
    count = len(table)
    here = [i for i in held if table["mass"][i, 0] > 0.0]
    if not here:
        return
    evaluator = PlanEvaluator(robot)
    evaluator.table[:] = table
    evaluator.accept(plan)
    angles = []
    for twist in ((0.077, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.2)):  # [m/s, m/s, rad/s]
        evaluator.findings(np.array(twist))
        angles.append(evaluator.cycle.angles[::3].copy())
    walking = np.concatenate(angles)  # (samples, legs, 3)
    for i in here:
        row = table[i]
        if i in fixed or row["free"][0] == 0.0:
            continue
        others = []
        for j in ((i + 1) % count, (i - 1) % count):
            if table["mass"][j, 0] > 0.0:
                rest = table["rest"][j : j + 1]
                others.append(link_lines(table[j], rest if j in held else walking[:, j]).reshape(-1, 6))
        neighbours = np.concatenate(others) if others else np.empty((0, 6))
        best, chosen = -1.0, row["rest"][0]
        for turn in (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9, 1.2, -1.2):
            if row["lower"][0] <= turn <= row["upper"][0]:
                pose = np.array([turn, *row["rest"][1:]])
                clear = least_distance(link_lines(row, pose), neighbours)
                if clear > best:
                    best, chosen = clear, turn
                if clear >= 0.045:  # [m] of the centre lines; links are 24 mm thick (robot/mjcf.py)
                    break
        row["rest"][0] = chosen
