"""Makes the plan of a robot for a set of lost legs, or improves one.

The orders of the legs are enumerated, the other numbers found by CMA-ES.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import permutations
from math import gcd
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.cma_es import minimise
from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.plan import HEIGHT, LIFT, GaitPlan, PlanEvaluator
from hexapod_dynamics.robot import Morphology, Robot


@dataclass(frozen=True)
class Demands:
    """Speeds for which a plan is made [m/s, m/s, m/s, rad/s], and the least margin [m] of an acceptable plan.

    fast [m/s]: forward speed that is demanded at a shorter period and with the servos at their limit; 0: none.
    """

    forward: float
    back: float
    side: float
    turn: float
    least_margin: float
    fast: float

    def twists(self) -> np.ndarray:
        """Return the twists (7, 3): forward, back, both sides, both turns, stepping on the spot."""
        x, y, turn = self.forward, self.side, self.turn
        return np.array([(x, 0, 0), (-self.back, 0, 0), (0, y, 0), (0, -y, 0), (0, 0, turn), (0, 0, -turn), (0, 0, 0)])


COARSE = 24  # number of samples of a cycle in all searches but the last
# Middles and half widths of the allowed periods [s] and duty factors: rowing, walking on four legs, on more.
TIMINGS = {
    "row": np.array([[1.35, 0.2], [0.62, 0.06]]),
    "four": np.array([[1.3, 0.3], [0.81, 0.025]]),
    "more": np.array([[1.0, 0.25], [0.7, 0.09]]),
}


class _Task(NamedTuple):
    """What a search varies: kind of the plan, walk or row; phases (K,) of the legs' order; spread: largest difference
    of a leg's phase from its phase in the order. twists (K, 3): for which the plan is made. timing: one of TIMINGS.
    """

    kind: str
    phases: np.ndarray
    spread: float
    twists: np.ndarray
    timing: np.ndarray


def _penalty(found: _core.Findings, speed: float) -> float:
    """Return the penalty for violated limits of reach, joint range, joint rates (speed [rad/s]), distance of legs."""
    broken = max(0.0, 0.006 - found.reach) / 0.01 + max(0.0, 0.06 - found.range) / 0.1
    return broken + max(0.0, found.rate / speed - 1.0) / 0.03 + max(0.0, 0.03 - found.apart) / 0.01


class Search(PlanEvaluator):
    """Searches for plans of a robot with lost legs.

    names: the legs that walk; morphology: remaining parts (for the masses of legs that are held up), by default these
    legs; height [m].
    """

    def __init__(
        self,
        robot: Robot,
        names: Iterable[str],
        demands: Demands,
        *,
        morphology: Morphology | None = None,
        height: float = HEIGHT,
    ) -> None:
        self.names = tuple(names)
        lost = [name for name in robot.leg_names if name not in self.names]
        super().__init__(robot, morphology or Morphology.whole(robot).without(*lost))
        self.demands, self.height = demands, height
        self.used = np.array([robot.leg_names.index(name) for name in self.names])
        self.neutral = np.array([neutral_foothold(self.table[i]) for i in self.used])

    def plan(self) -> GaitPlan:
        """Return the best GaitPlan found; HexapodError if none has the least margin."""
        best = self._row() if len(self.names) <= 3 else self._walk()
        if best.margin < self.demands.least_margin:
            raise HexapodError(
                f"no gait for the legs {', '.join(self.names)}: the best found has a margin of {1e3 * best.margin:.1f} "
                f"mm, {1e3 * self.demands.least_margin:.1f} mm are needed; try a lower body or slower demands"
            )
        return best

    def _walk(self) -> GaitPlan:
        count, twists = len(self.names), self.demands.twists()
        spread, tries = 0.0 if count == 4 else 0.08, []
        for order in self._orders():
            phases = np.array([order.index(i) / count for i in range(count)])
            task = _Task("walk", phases, spread, twists[[0, 6]], TIMINGS["more" if spread else "four"])
            first = self._minimise(task, 120 if count == 4 else 60, self._guess(task), 1.0)
            tries.append((*first, task._replace(twists=twists)))
        tries.sort(key=lambda row: row[1])
        found = []
        split = 2 * count + 8  # the numbers from here on make the sway depend on the twist
        for x, _, task in tries[:6]:
            start = np.concatenate([x[:split], np.zeros(24), x[split:]])
            found.append((*self._minimise(task, 250, start, 0.5), task))
        x, _, task = min(found, key=lambda row: row[1])
        return self._refine(task, x, 700, 150)

    def _refine(self, task: _Task, x: np.ndarray, generations: int, fine: int) -> GaitPlan:
        """Return the plan that a search of coarse and some fine generations finds from numbers on."""
        x, _ = self._minimise(task, generations, x, 0.3)
        x, _ = self._minimise(task, fine, x, 0.1, samples=None)
        return self._evaluate_plan(task, x)

    def improve(self, plan: GaitPlan, generations: int = 700) -> GaitPlan:
        """Return a plan for four legs, found by an earlier search, improved under the present demands.

        Raises HexapodError for a plan of another kind, or for other legs than those of this search.
        """
        if plan.legs != self.names or len(self.names) != 4:
            raise HexapodError(f"a plan for {', '.join(plan.legs)}: only one for the same four legs can be improved")
        task = _Task("walk", np.array(plan.phases), 0.0, self.demands.twists(), TIMINGS["four"])
        share = (np.array([plan.period, plan.duty]) - task.timing[:, 0]) / task.timing[:, 1]
        feet = (np.array(plan.footholds) - self.neutral).ravel()
        x = np.concatenate([feet / 0.01, np.array(plan.sway) / 0.01, np.arctanh(np.clip(share, -0.99, 0.99))])
        return self._refine(task, x, generations, generations // 5)

    def _guess(self, task: _Task) -> np.ndarray:
        """Return the initial guess: feet around the centre of mass, the body away from the swinging leg."""
        count = len(self.names)
        x = np.zeros(2 * count + 10 + (count if task.spread else 0))
        middle = self.neutral.mean(axis=0)
        x[: 2 * count] = np.tile(-middle / 0.01, count)
        angle = 2.0 * np.pi * (0.5 * (1.0 + task.timing[1, 0]) - task.phases)  # in the middle of each leg's swing
        waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)
        away = self.neutral - middle
        away *= -0.02 / np.linalg.norm(away, axis=1, keepdims=True)
        for axis in range(2):
            at = 2 * count + 4 * axis
            x[at : at + 4] = np.linalg.lstsq(waves, away[:, axis], rcond=None)[0] / 0.01
        return x

    def _orders(self) -> list[tuple[int, ...]]:
        """Return the orders of the legs: the first leg stays first; for many legs, only waves."""
        count = len(self.names)
        if count <= 5:
            return [(0, *rest) for rest in permutations(range(1, count))]
        steps = [step for step in range(1, count) if gcd(step, count) == 1]
        return [tuple((k * step) % count for k in range(count)) for step in steps]

    def _row(self) -> GaitPlan:
        task = _Task("row", np.zeros(len(self.names)), 0.0, self.demands.twists(), TIMINGS["row"])
        start = np.zeros(2 * len(self.names) + 2)
        tries = [self._minimise(task, 200, start, 1.5, seed=seed) for seed in range(1, 5)]
        return self._evaluate_plan(task, min(tries, key=lambda row: row[1])[0])

    def _minimise(
        self, task: _Task, generations: int, mean: np.ndarray, sigma: float, seed: int = 1, samples: int | None = COARSE
    ) -> tuple[np.ndarray, float]:
        """Return the numbers of the best plan of a task, and its cost; samples: as `findings`."""

        def evaluate(points: np.ndarray, values: np.ndarray) -> None:
            values[:] = [self._cost(task, samples, x) for x in points]

        return minimise(evaluate, mean, sigma, generations, seed=seed)

    def _build_plan(self, task: _Task, x: np.ndarray) -> GaitPlan:
        """Return the plan that numbers describe, its margin 0: footholds less the neutral ones (2 a leg) [10 mm], sway
        (8 or 32) [10 mm]; period and duty factor as differences from their middles in units of their half widths; with
        a spread, the difference of each leg's phase from that of its order.
        """
        n, rows, sways = len(self.used), task.kind == "row", 0
        if not rows:
            sways = 32 if len(x) > 3 * n + 10 else 8
        timing = [math.tanh(value) for value in x[2 * n + sways :]]
        shifts = task.spread * np.array(timing[2:]) if task.spread else 0.0
        (period, wide), (duty, broad) = task.timing.tolist()
        rise = 0.022 if n > 2 else 0.006  # [m] on two legs, an edge of the belly stays on the ground
        return GaitPlan(
            kind=task.kind,
            legs=self.names,
            phases=tuple(((task.phases + shifts) % 1.0).tolist()),
            footholds=tuple((x, y) for x, y in (self.neutral + 0.01 * x[: 2 * n].reshape(n, 2)).tolist()),
            duty=duty + broad * timing[1],
            period=period + wide * timing[0],
            height=0.5 * float(self.robot.body.box[2]) + rise if rows else self.height,
            lift=LIFT,
            sway=(*(0.01 * x[2 * n : 2 * n + sways]).tolist(), *[0.0] * (32 - sways)),
            rise=rise if rows else 0.0,
            margin=0.0,
        )

    def _cost(self, task: _Task, samples: int | None, x: np.ndarray) -> float:
        """Return the cost of a plan: the least margin, a share of the mean margin, penalties for violated limits."""
        self.accept(self._build_plan(task, x))
        plan, speed, broken = self.numbers, self.robot.servo.speed_limit, 0.0
        margins = []
        for twist in task.twists:
            found = self.findings(twist, samples)
            margins.append(min(found.margin, 0.035))  # [m] more gives no reward
            broken += _penalty(found, 1.05 * speed)
        if self.demands.fast > 0.0:  # the servos saturate a little, and the margin may be small
            plan.period *= 0.72
            found = self.findings(np.array([self.demands.fast, 0.0, 0.0]), samples)
            broken += _penalty(found, 1.35 * speed) + max(0.0, 0.006 - found.margin) / 0.004
        feet = self.table["foothold"][self.used]
        if len(feet) == 2:
            sides = np.where(self.table["mount"][self.used, 1] >= 0.0, 1.0, -1.0)
            inside = 0.5 * self.robot.body.box[1] + 0.05 - sides * feet[:, 1]
            broken += np.maximum(inside, 0.0).sum() / 0.01
        far, effort = np.square(feet - self.neutral).sum(), np.square(plan.sway).sum()
        mean = sum(margins) / len(margins)
        return float(-min(margins) / 0.01 - 0.2 * mean / 0.01 + broken + 20.0 * effort + 3.0 * far)

    def _evaluate_plan(self, task: _Task, x: np.ndarray) -> GaitPlan:
        """Return the plan that numbers describe, with its margin."""
        plan = self._build_plan(task, x)
        return replace(plan, margin=min(found.margin for found in self.evaluate(plan)))

    def evaluate(self, plan: GaitPlan) -> list[_core.Findings]:
        """Return the findings (K) of a plan at each of the demanded twists."""
        self.accept(plan)
        return [self.findings(twist).copy() for twist in self.demands.twists()]


# Speeds for which plans of the JetHexa are made, by the number of legs that walk: forward, back, sideways [m/s],
# turning [rad/s], least margin [m], fastest walk [m/s]. For other robots they are scaled with legs and servos.
SPEEDS = {
    2: (0.079, 0.05, 0.0, 0.0, 0.002, 0.0),
    3: (0.09, 0.08, 0.08, 0.35, 0.004, 0.0),
    4: (0.079, 0.07, 0.07, 0.3, 0.004, 0.102),
    5: (0.12, 0.09, 0.09, 0.45, 0.006, 0.0),
}
# If there is no plan at these speeds, the search is repeated at these shares of them.
SHARES = (1.0, 0.75, 0.5, 0.3)


def make_demands(robot: Robot, count: int, share: float = 1.0) -> Demands:
    """Return the Demands on a plan for `count` legs of a robot at a share of its speeds."""
    longer = float(leg_table(robot)["lengths"][:, 1:].sum(axis=1).mean()) / 0.2  # [m] of the JetHexa's legs
    turning = share * min(1.0, robot.servo.speed_limit / 5.82)  # [rad/s] of its servos
    scale = longer * turning
    forward, back, side, turn, margin, fast = SPEEDS[min(5, count)]
    return Demands(scale * forward, scale * back, scale * side, turning * turn, margin * longer, scale * fast)


def make_plan(robot: Robot, lost: Iterable[str], morphology: Morphology | None = None) -> GaitPlan:
    """Return the GaitPlan of a robot without some legs (names); HexapodError if there is none."""
    gone = set(lost)
    morphology = morphology or Morphology.whole(robot).without(*gone)
    names = [name for name in robot.leg_names if name not in gone]
    if len(names) < 2:
        raise HexapodError(f"remaining legs: {', '.join(names) or 'none'}; at least 2 are needed to row")
    height = min(HEIGHT, float(leg_table(robot)["lengths"][:, 2].min()))
    last = HexapodError()
    for share in SHARES:
        demanded = make_demands(robot, len(names), share)
        try:
            return Search(robot, names, demanded, morphology=morphology, height=height).plan()
        except HexapodError as error:
            last = error
    raise last


def improve_plan(robot: Robot, plan: GaitPlan) -> GaitPlan:
    """Return a plan for four legs, improved under the present demands, in a fourth of the time of a new plan."""
    return Search(robot, plan.legs, make_demands(robot, len(plan.legs)), height=plan.height).improve(plan)
