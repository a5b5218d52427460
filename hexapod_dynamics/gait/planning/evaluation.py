"""Evaluates plans of one robot with its present morphology; memory is allocated once."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.legs import leg_table
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology, Robot

# A foot at the ends of its stance does not count as standing for this time [s].
GUARD_TIME = 0.02


def guard(period: float, duty: float) -> float:
    """Return the share of the cycle in which a foot at the ends of its stance does not count as standing."""
    return min(GUARD_TIME / period, (duty - 0.5) / 2.2)


class PlanEvaluator:
    """Evaluates a plan on the leg table of a robot.

    robot: a Robot of three-joint legs; morphology: its present Morphology; rest: joint angles (legs, 3) of the legs
    that are held up.
    """

    def __init__(self, robot: Robot, morphology: Morphology | None = None, rest: np.ndarray | None = None) -> None:
        self.robot = robot
        self.table = leg_table(robot, morphology)
        if rest is not None:
            self.table["rest"] = rest
        self.box = robot.body.box_and_com
        self.numbers = _core.PlanNumbers()
        self.cycle, self.found = _core.PlanCycle(len(robot.legs)), _core.Findings()

    def accept(self, plan: GaitPlan) -> None:
        """Set the GaitPlan to evaluate."""
        plan.fill(self.table, self.robot.leg_names)
        self.numbers.load(plan.numbers())

    def findings(self, twist: np.ndarray) -> _core.Findings:
        """Return the findings of the plan at a twist; the next call overwrites them."""
        mass, gravity, numbers = self.robot.body.mass, self.robot.gravity, self.numbers
        share = guard(numbers.period, numbers.duty)
        self.cycle.evaluate(numbers, self.table, self.box, mass, gravity, twist, share, self.found)
        return self.found

    def course(self, twist: np.ndarray) -> np.ndarray:
        """Return the zero-moment point (x, y) [m] in the nominal frame and its margin [m] over the cycle, (K, 3)."""
        self.findings(twist)
        return self.cycle.course
