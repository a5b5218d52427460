"""Makes plans: one for a set of lost legs, or the library of a robot on several processes.

The orders of the legs are enumerated, the other numbers found by CMA-ES; the cost of a whole generation is computed by
one compiled call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import permutations
from math import gcd
from multiprocessing import get_context

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.cma_es import minimise
from hexapod_dynamics.gait.planning.evaluation import GUARD_TIME
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import GaitPlan, tripod_plan
from hexapod_dynamics.process_environment import compute_in_one_thread
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
    fast: float = 0.0

    def twists(self) -> np.ndarray:
        """Return the twists (7, 3): forward, back, both sides, both turns, stepping on the spot."""
        return np.array(
            [
                [self.forward, 0, 0],
                [-self.back, 0, 0],
                [0, self.side, 0],
                [0, -self.side, 0],
                [0, 0, self.turn],
                [0, 0, -self.turn],
                [0, 0, 0],
            ],
            float,
        )


# Middle and half width of the allowed periods [s] and duty factors: walking on four legs, rowing, five and more legs.
PERIODS = np.array([[1.3, 0.3], [1.35, 0.2], [1.0, 0.25]])
DUTIES = np.array([[0.81, 0.025], [0.62, 0.06], [0.7, 0.09]])


class Search:
    """Searches for plans of a robot with lost legs.

    robot: a Robot of three-joint legs; names: the legs that walk; morphology: remaining parts (for the masses of
    legs that are held up); height, lift [m]; rest: joint angles (legs, 3) of legs that are held up.
    """

    def __init__(
        self,
        robot: Robot,
        names: Iterable[str],
        demands: Demands,
        *,
        morphology: Morphology | None = None,
        height: float = 0.12,
        lift: float = 0.02,
        rest: np.ndarray | None = None,
        seed: int = 1,
    ) -> None:
        self.robot, self.demands, self.height, self.lift, self.seed = robot, demands, height, lift, seed
        self.names = tuple(names)
        self.table = leg_table(robot, morphology)
        if rest is not None:
            self.table["rest"] = rest
        self.used = np.array([robot.leg_names.index(name) for name in self.names])
        self.table["used"][self.used] = 1.0
        self.neutral = np.array([neutral_foothold(self.table[i]) for i in self.used])
        self.fine, self.coarse = _core.PlanCycle(len(robot.legs)), _core.PlanCycle(len(robot.legs), 24)
        self.evaluations = 0

    def plan(self) -> GaitPlan:
        """Return the best GaitPlan found; HexapodError if none has the least margin."""
        count = len(self.names)
        if count < 2:
            raise HexapodError(f"{count} legs left ({', '.join(self.names)}): at least 2 are needed to row")
        best = self._row() if count <= 3 else self._walk()
        if best.margin < self.demands.least_margin:
            raise HexapodError(
                f"no gait for the legs {', '.join(self.names)}: the best found has a margin of {1e3 * best.margin:.1f} "
                f"mm, {1e3 * self.demands.least_margin:.1f} mm are needed; try a lower body or slower demands"
            )
        return best

    def _walk(self) -> GaitPlan:
        count = len(self.names)
        spread = 0.0 if count == 4 else 0.08
        twists = self.demands.twists()
        tries = []
        for order in self._orders():
            phases = np.array([order.index(i) / count for i in range(count)])
            x, value = self._minimise(
                0, spread, phases, twists[[0, 6]], 120 if count == 4 else 60, self._guess(phases, spread), 1.0
            )
            tries.append((value, phases, x))
        tries.sort(key=lambda row: row[0])
        found = []
        split = 2 * count + 8  # the numbers from here on make the sway depend on the twist
        for _, phases, x in tries[:6]:
            x = np.concatenate([x[:split], np.zeros(24), x[split:]])
            x, value = self._minimise(0, spread, phases, twists, 250, x, 0.5)
            found.append((value, phases, x))
        value, phases, x = min(found, key=lambda row: row[0])
        x, _ = self._minimise(0, spread, phases, twists, 700, x, 0.3)
        x, _ = self._minimise(0, spread, phases, twists, 150, x, 0.1, coarse=False)
        return self._made(0, spread, phases, x, "walk")

    def improved(self, plan: GaitPlan, generations: int = 700) -> GaitPlan:
        """Return a plan for four legs, found by an earlier search, improved under the present demands.

        Raises HexapodError for a plan of another kind, or for other legs than those of this search.
        """
        if plan.legs != self.names or len(self.names) != 4:
            raise HexapodError(f"a plan for {', '.join(plan.legs)}: only one for the same four legs can be improved")
        middles = np.array([PERIODS[0], DUTIES[0]])
        share = (np.array([plan.period, plan.duty]) - middles[:, 0]) / middles[:, 1]
        feet = (np.array(plan.footholds) - self.neutral).ravel()
        x = np.concatenate([feet / 0.01, np.array(plan.sway) / 0.01, np.arctanh(np.clip(share, -0.99, 0.99))])
        phases, twists = np.array(plan.phases), self.demands.twists()
        x, _ = self._minimise(0, 0.0, phases, twists, generations, x, 0.3)
        x, _ = self._minimise(0, 0.0, phases, twists, generations // 5, x, 0.1, coarse=False)
        return self._made(0, 0.0, phases, x, "walk")

    def _guess(self, phases: np.ndarray, spread: float) -> np.ndarray:
        """Return the initial guess: feet around the centre of mass, the body away from the swinging leg."""
        count = len(self.names)
        x = np.zeros(2 * count + 10 + (count if spread else 0))
        middle = self.neutral.mean(axis=0)
        x[: 2 * count] = np.tile(-middle / 0.01, count)
        duty = DUTIES[2 if spread else 0, 0]
        angle = 2.0 * np.pi * (0.5 * (1.0 + duty) - phases)  # in the middle of each leg's swing
        waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)
        away = self.neutral - middle
        away *= -0.02 / np.linalg.norm(away, axis=1, keepdims=True)
        for axis in range(2):
            at = 2 * count + 4 * axis
            x[at : at + 4] = np.linalg.lstsq(waves, away[:, axis], rcond=None)[0] / 0.01
        return x

    def _orders(self) -> list[tuple[int, ...]]:
        """Return the orders of the legs: the first leg stays first, all orders of the others are enumerated; for
        many legs, only waves.
        """
        count = len(self.names)
        if count <= 5:
            return [(0, *rest) for rest in permutations(range(1, count))]
        steps = [step for step in range(1, count) if gcd(step, count) == 1]
        return [tuple((k * step) % count for k in range(count)) for step in steps]

    def _row(self) -> GaitPlan:
        phases = np.zeros(len(self.names))
        best, start = None, np.zeros(2 * len(self.names) + 2)
        for k in range(4):
            x, value = self._minimise(1, 0.0, phases, self.demands.twists(), 200, start, 1.5, seed=self.seed + k)
            if best is None or value < best[1]:
                best = x, value
        return self._made(1, 0.0, phases, best[0], "row")

    def _numbers(self, kind: int) -> _core.PlanNumbers:
        plan = _core.PlanNumbers()
        plan.height, plan.lift = self.height, self.lift
        if kind == 1:
            rise = ROW_RISE if len(self.names) > 2 else LOW_RISE
            plan.crawls, plan.rise = 1.0, rise
            plan.height = 0.5 * self.robot.body.box[2] + rise
        return plan

    def _minimise(
        self,
        kind: int,
        spread: float,
        phases: np.ndarray,
        twists: np.ndarray,
        generations: int,
        start: np.ndarray,
        sigma: float,
        *,
        seed: int | None = None,
        coarse: bool = True,
    ) -> tuple[np.ndarray, float]:
        problem = self._problem(kind, spread, phases, twists, self.coarse if coarse else self.fine)

        def judged(points: np.ndarray, values: np.ndarray) -> None:
            self.evaluations += len(points)
            problem.costs(points, values)

        return minimise(judged, start, sigma, generations, seed=seed or self.seed)

    def _problem(
        self, kind: int, spread: float, phases: np.ndarray, twists: np.ndarray, cycle: _core.PlanCycle
    ) -> _core.PlanProblem:
        """Return the problem of one order of the legs; `self.numbers` and `self.table` hold its plan."""
        self.numbers = self._numbers(kind)
        row = 1 if kind == 1 else 2 if spread != 0.0 else 0
        body = self.robot.body.box_and_com, self.robot.body.mass, self.robot.gravity
        return _core.PlanProblem(
            crawls=kind == 1,
            spread=spread,
            phases=phases,
            plan=self.numbers,
            legs=self.table,
            used=self.used,
            neutral=self.neutral,
            body=body,
            speed_limit=self.robot.servo.speed_limit,
            twists=twists,
            fast=self.demands.fast,
            cycle=cycle,
            periods=PERIODS[row],
            duties=DUTIES[row],
        )

    def _made(self, kind: int, spread: float, phases: np.ndarray, x: np.ndarray, name: str) -> GaitPlan:
        self._problem(kind, spread, phases, self.demands.twists(), self.fine).fill(np.array(x, float))
        plan = self.numbers
        made = GaitPlan(
            kind=name,
            legs=self.names,
            phases=tuple(float(v) for v in self.table["phase"][self.used]),
            footholds=tuple((float(a), float(b)) for a, b in self.table["foothold"][self.used]),
            duty=float(plan.duty),
            period=float(plan.period),
            height=float(plan.height),
            lift=self.lift,
            sway=tuple(float(v) for v in plan.sway),
            rise=float(plan.rise),
        )
        worst = self.judged(made)
        return GaitPlan(**{**made.__dict__, "margin": min(found.margin for found in worst)})

    def judged(self, plan: GaitPlan, twists: np.ndarray | None = None) -> list[_core.Findings]:
        """Return the findings (K) of a plan at each of the twists, by default the demanded ones."""
        plan.fill(self.table, self.robot.leg_names)
        numbers, box = plan.numbers(), self.robot.body.box_and_com
        twists = self.demands.twists() if twists is None else twists
        out = [_core.Findings() for _ in twists]
        for found, twist in zip(out, twists, strict=True):
            guard = GUARD_TIME / plan.period
            body = box, self.robot.body.mass, self.robot.gravity
            self.fine.evaluate(numbers, self.table, *body, twist, guard, found)
        return out


# How far [m] a rowing body rises from its belly; on two legs, where an edge of the belly stays on the ground.
ROW_RISE, LOW_RISE = 0.022, 0.006


# Speeds for which plans of the JetHexa are made, by the number of legs that walk: forward, back, sideways [m/s],
# turning [rad/s], least margin [m], fastest walk [m/s]. For other robots they are scaled with legs and servos.
SPEEDS = {
    2: (0.079, 0.05, 0.0, 0.0, 0.002, 0.0),
    3: (0.09, 0.08, 0.08, 0.35, 0.004, 0.0),
    4: (0.079, 0.07, 0.07, 0.3, 0.004, 0.102),
    5: (0.12, 0.09, 0.09, 0.45, 0.006, 0.0),
}
JETHEXA_LEG, JETHEXA_SERVO = 0.2, 5.82
# If there is no plan at these speeds, the search is repeated at these shares of them.
SHARES = (1.0, 0.75, 0.5, 0.3)


def demands(robot: Robot, count: int, share: float = 1.0) -> Demands:
    """Return the Demands on a plan for `count` legs of a robot at a share of its speeds."""
    length = float(leg_table(robot)["lengths"][:, 1:].sum(axis=1).mean())
    scale = share * length / JETHEXA_LEG * min(1.0, robot.servo.speed_limit / JETHEXA_SERVO)
    forward, back, side, turn, margin, fast = SPEEDS[min(5, count)]
    turning = share * min(1.0, robot.servo.speed_limit / JETHEXA_SERVO)
    least = margin * length / JETHEXA_LEG
    return Demands(scale * forward, scale * back, scale * side, turning * turn, least, scale * fast)


def make_plan(
    robot: Robot,
    lost: Iterable[str],
    *,
    morphology: Morphology | None = None,
    height: float | None = None,
    seed: int = 1,
) -> GaitPlan:
    """Return the GaitPlan of a robot without some legs (names); HexapodError if there is none."""
    names = [name for name in robot.leg_names if name not in lost]
    shape = leg_table(robot)
    if height is None:
        height = min(0.12, float(shape["lengths"][:, 2].min()))
    if morphology is None:
        morphology = Morphology.whole(robot).without(*lost)
    last = None
    for share in SHARES:
        try:
            search = Search(
                robot, names, demands(robot, len(names), share), morphology=morphology, height=height, seed=seed
            )
            return search.plan()
        except HexapodError as error:
            last = error
            if len(names) < 2:
                break
    raise last


def improve_plan(robot: Robot, plan: GaitPlan) -> GaitPlan:
    """Return a plan for four legs, improved under the present demands; this takes a fourth of the time of a new
    plan.
    """
    lost = [name for name in robot.leg_names if name not in plan.legs]
    morphology = Morphology.whole(robot).without(*lost)
    search = Search(robot, plan.legs, demands(robot, len(plan.legs)), morphology=morphology, height=plan.height)
    return search.improved(plan)


def plan_or_reason(robot: Robot, lost: Iterable[str], morphology: Morphology) -> GaitPlan | str:
    """Return the GaitPlan, or a text that says why there is none."""
    try:
        return make_plan(robot, lost, morphology=morphology)
    except HexapodError as error:
        return str(error)


def make_library(
    robot: Robot,
    report: Callable[..., None],
    *,
    jobs: int | None = None,
    most_lost: int | None = None,
    classes: list[tuple[str, ...]] | None = None,
    library: PlanLibrary | None = None,
) -> PlanLibrary:
    """Make the plans of every set of lost legs, one of each mirror pair; return the PlanLibrary.

    report(done, all, set, GaitPlan or HexapodError): called when a plan is finished. jobs: number of processes, by
    default one for each core.
    """
    library = PlanLibrary(robot) if library is None else library
    most = len(robot.legs) - 2 if most_lost is None else most_lost
    if len(robot.legs) < 3:
        raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least 3 are needed to walk or row")
    if classes is None:
        # A robot without a tripod needs a plan even if it is intact.
        classes = ([()] if tripod_plan(robot) is None else []) + library.classes(most)
    with ProcessPoolExecutor(
        jobs or os.cpu_count(), mp_context=get_context("spawn"), initializer=compute_in_one_thread
    ) as pool:
        futures = {pool.submit(make_plan, robot, lost): lost for lost in classes}
        for done, future in enumerate(as_completed(futures), start=1):
            try:
                plan = future.result()
                library.add(plan)
                result: GaitPlan | HexapodError = plan
            except HexapodError as error:
                result = error
            report(done, len(classes), futures[future], result)
    return library
