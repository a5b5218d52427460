"""Makes plans: one for a set of lost legs, or the library of a robot on several processes.

The orders of the legs are enumerated, the other numbers found by CMA-ES (Hansen, The CMA Evolution Strategy: A
Tutorial, arXiv 1604.00772, with its default parameters; equation numbers are those of the tutorial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.background import decode
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import GUARD_TIME, GaitPlan, tripod_plan
from hexapod_dynamics.process_environment import worker_processes
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
# Requirements on a plan: reach [m], joint range [rad], share of the servos' speed, distance between legs [m].
REACH_LEFT, RANGE_LEFT, SPEED_SHARE, LEGS_APART = 0.006, 0.06, 1.05, 0.03
ENOUGH = 0.035  # [m] margins above it give no reward
# The fast walk of a plan: share of its period, share of the servos' speed (they saturate a little), margin [m] below
# which it is penalised.
FAST_PERIOD, FAST_SPEED, FAST_MARGIN = 0.72, 1.35, 0.006
BESIDE = 0.05  # [m] two feet that crawl are at least so far beside the body


class _Task(NamedTuple):
    """What a search varies: kind of the plan, walk or row; phases (K,) of the legs' order; spread: largest difference
    of a leg's phase from its phase in the order.
    """

    kind: str
    phases: np.ndarray
    spread: float = 0.0

    @property
    def row(self) -> int:
        """Row of PERIODS and DUTIES."""
        return 1 if self.kind == "row" else 2 if self.spread else 0


def _penalty(found: _core.Findings, speed: float) -> float:
    """Return the penalty for violated limits of reach, joint range, joint rates (speed [rad/s]), distance of legs."""
    broken = max(0.0, REACH_LEFT - found.reach) / 0.01 + max(0.0, RANGE_LEFT - found.range) / 0.1
    return broken + max(0.0, found.rate / speed - 1.0) / 0.03 + max(0.0, LEGS_APART - found.apart) / 0.01


class Search:
    """Searches for plans of a robot with lost legs.

    robot: a Robot of three-joint legs; names: the legs that walk; morphology: remaining parts (for the masses of
    legs that are held up); height, lift [m].
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
        seed: int = 1,
    ) -> None:
        self.robot, self.demands, self.height, self.lift, self.seed = robot, demands, height, lift, seed
        self.names = tuple(names)
        self.table = leg_table(robot, morphology)
        self.used = np.array([robot.leg_names.index(name) for name in self.names])
        self.table["used"][self.used] = 1.0
        self.neutral = np.array([neutral_foothold(self.table[i]) for i in self.used])
        self.fine, self.coarse = _core.PlanCycle(len(robot.legs)), _core.PlanCycle(len(robot.legs), 24)
        self._box, self._findings = robot.body.box_and_com, _core.Findings()

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
            task = _Task("walk", np.array([order.index(i) / count for i in range(count)]), spread)
            first = self._minimise(task, twists[[0, 6]], 120 if count == 4 else 60, self._guess(task), 1.0)
            tries.append((*first, task))
        tries.sort(key=lambda row: row[1])
        found = []
        split = 2 * count + 8  # the numbers from here on make the sway depend on the twist
        for x, _, task in tries[:6]:
            start = np.concatenate([x[:split], np.zeros(24), x[split:]])
            found.append((*self._minimise(task, twists, 250, start, 0.5), task))
        x, _, task = min(found, key=lambda row: row[1])
        return self._refined(task, x, 700, 150)

    def _refined(self, task: _Task, x: np.ndarray, generations: int, fine: int) -> GaitPlan:
        """Return the plan that a search of coarse and some fine generations finds from numbers on."""
        twists = self.demands.twists()
        x, _ = self._minimise(task, twists, generations, x, 0.3)
        x, _ = self._minimise(task, twists, fine, x, 0.1, cycle=self.fine)
        return self._made(task, x)

    def improved(self, plan: GaitPlan, generations: int = 700) -> GaitPlan:
        """Return a plan for four legs, found by an earlier search, improved under the present demands.

        Raises HexapodError for a plan of another kind, or for other legs than those of this search.
        """
        if plan.legs != self.names or len(self.names) != 4:
            raise HexapodError(f"a plan for {', '.join(plan.legs)}: only one for the same four legs can be improved")
        task = _Task("walk", np.array(plan.phases))
        middles = np.array([PERIODS[task.row], DUTIES[task.row]])
        share = (np.array([plan.period, plan.duty]) - middles[:, 0]) / middles[:, 1]
        feet = (np.array(plan.footholds) - self.neutral).ravel()
        x = np.concatenate([feet / 0.01, np.array(plan.sway) / 0.01, np.arctanh(np.clip(share, -0.99, 0.99))])
        return self._refined(task, x, generations, generations // 5)

    def _guess(self, task: _Task) -> np.ndarray:
        """Return the initial guess: feet around the centre of mass, the body away from the swinging leg."""
        count = len(self.names)
        x = np.zeros(2 * count + 10 + (count if task.spread else 0))
        middle = self.neutral.mean(axis=0)
        x[: 2 * count] = np.tile(-middle / 0.01, count)
        angle = 2.0 * np.pi * (0.5 * (1.0 + DUTIES[task.row, 0]) - task.phases)  # in the middle of each leg's swing
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
        task, start = _Task("row", np.zeros(len(self.names))), np.zeros(2 * len(self.names) + 2)
        tries = [self._minimise(task, self.demands.twists(), 200, start, 1.5, seed=self.seed + k) for k in range(4)]
        return self._made(task, min(tries, key=lambda row: row[1])[0])

    def _minimise(
        self,
        task: _Task,
        twists: np.ndarray,
        generations: int,
        start: np.ndarray,
        sigma: float,
        *,
        seed: int | None = None,
        cycle: _core.PlanCycle | None = None,
    ) -> tuple[np.ndarray, float]:
        """Return the numbers of the best plan of a task for these twists, and its cost; cycle: memory of the
        evaluation, by default the coarse one.
        """
        self._begin(task)
        cycle = cycle or self.coarse

        def judged(points: np.ndarray, values: np.ndarray) -> None:
            values[:] = [self._cost(task, twists, cycle, x) for x in points]

        return minimise(judged, start, sigma, generations, seed=seed or self.seed)

    def _begin(self, task: _Task) -> None:
        self.numbers = _core.PlanNumbers()
        self.numbers.height, self.numbers.lift = self.height, self.lift
        if task.kind == "row":
            self.numbers.crawls, self.numbers.rise = 1.0, ROW_RISE if len(self.names) > 2 else LOW_RISE
            self.numbers.height = 0.5 * self.robot.body.box[2] + self.numbers.rise

    def _write(self, task: _Task, x: np.ndarray) -> None:
        """Write numbers into the plan and the legs: footholds less the neutral ones (2 a leg) [10 mm], sway (8 or 32)
        [10 mm]; period and duty factor as differences from their middles in units of their half widths; with a spread,
        the difference of each leg's phase from that of its order.
        """
        n, plan, sways = len(self.used), self.numbers, 0
        if task.kind == "walk":
            sways = 32 if len(x) > 3 * n + 10 else 8
        timing = [math.tanh(value) for value in x[2 * n + sways :]]
        shifts = task.spread * np.array(timing[2:]) if task.spread else 0.0
        self.table["foothold"][self.used] = self.neutral + 0.01 * x[: 2 * n].reshape(n, 2)
        self.table["phase"][self.used] = (task.phases + shifts) % 1.0
        plan.sway[:sways] = 0.01 * x[2 * n : 2 * n + sways]
        (period, wide), (duty, broad) = PERIODS[task.row], DUTIES[task.row]
        plan.period, plan.duty = period + wide * timing[0], duty + broad * timing[1]

    def _cost(self, task: _Task, twists: np.ndarray, cycle: _core.PlanCycle, x: np.ndarray) -> float:
        """Return the cost of the plan that numbers describe: the least margin, a share of the mean margin, and
        penalties for violated constraints.
        """
        self._write(task, x)
        plan, speed, broken = self.numbers, self.robot.servo.speed_limit, 0.0
        margins = []
        for twist in twists:
            found = self._found(plan, twist, cycle)
            margins.append(min(found.margin, ENOUGH))
            broken += _penalty(found, SPEED_SHARE * speed)
        if self.demands.fast > 0.0:
            plan.period *= FAST_PERIOD
            found = self._found(plan, np.array([self.demands.fast, 0.0, 0.0]), cycle)
            broken += _penalty(found, FAST_SPEED * speed) + max(0.0, FAST_MARGIN - found.margin) / 0.004
        feet = self.table["foothold"][self.used]
        if len(feet) == 2:
            sides = np.where(self.table["mount"][self.used, 1] >= 0.0, 1.0, -1.0)
            inside = 0.5 * self.robot.body.box[1] + BESIDE - sides * feet[:, 1]
            broken += np.maximum(inside, 0.0).sum() / 0.01
        far, effort = np.square(feet - self.neutral).sum(), np.square(plan.sway).sum()
        mean = sum(margins) / len(margins)
        return float(-min(margins) / 0.01 - 0.2 * mean / 0.01 + broken + 20.0 * effort + 3.0 * far)

    def _found(self, plan: _core.PlanNumbers, twist: np.ndarray, cycle: _core.PlanCycle) -> _core.Findings:
        """Return the findings of a plan at a twist; the next call overwrites them."""
        body, found, guard = self.robot.body, self._findings, GUARD_TIME / plan.period
        cycle.evaluate(plan, self.table, self._box, body.mass, self.robot.gravity, twist, guard, found)
        return found

    def _made(self, task: _Task, x: np.ndarray) -> GaitPlan:
        """Return the plan that numbers describe, with its margin."""
        self._begin(task)
        self._write(task, x)
        plan = self.numbers
        made = GaitPlan(
            kind=task.kind,
            legs=self.names,
            phases=tuple(self.table["phase"][self.used].tolist()),
            footholds=tuple((x, y) for x, y in self.table["foothold"][self.used].tolist()),
            duty=plan.duty,
            period=plan.period,
            height=plan.height,
            lift=self.lift,
            sway=tuple(plan.sway.tolist()),
            rise=plan.rise,
        )
        return replace(made, margin=min(found.margin for found in self.judged(made)))

    def judged(self, plan: GaitPlan, twists: np.ndarray | None = None) -> list[_core.Findings]:
        """Return the findings (K) of a plan at each of the twists, by default the demanded ones."""
        plan.fill(self.table, self.robot.leg_names)
        numbers = plan.numbers()
        twists = self.demands.twists() if twists is None else twists
        return [self._found(numbers, twist, self.fine).copy() for twist in twists]


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
    with worker_processes(jobs) as pool:
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


def planned(request: Mapping[str, Any]) -> dict[str, object]:
    """Return the plan, or the reason why there is none, for a request of `BackgroundPlanner`."""
    robot, lost = decode(request["robot"]), request["lost"]
    left = [name for name in robot.leg_names if name not in lost]
    if len(left) < 2:
        return {"reason": f"legs left: {', '.join(left) or 'none'}; at least 2 are needed to row"}
    try:
        plan = make_plan(robot, lost, morphology=Morphology.from_parameters(robot, request["morphology"]))
    except HexapodError as error:
        return {"reason": str(error)}
    return {"plan": asdict(plan)}


def minimise(
    function: Callable[..., object], start: np.ndarray, sigma: float, generations: int, *, seed: int = 1
) -> tuple[np.ndarray, float]:
    """Minimise a function of some ten numbers without derivatives; return the best point (n,) found and its value.

    function(generation (population, n), values (population,)): writes the values of a whole generation. start (n,);
    sigma: first step size.
    """
    rng = np.random.default_rng(seed)
    n = len(start)
    population = 4 + int(3.0 * np.log(n))
    parents = population // 2
    weights = np.log(0.5 * (population + 1.0)) - np.log(np.arange(1, parents + 1))
    weights /= weights.sum()
    effective = 1.0 / np.square(weights).sum()
    c_sigma = (effective + 2.0) / (n + effective + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, np.sqrt((effective - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    c_c = (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n)
    c_1 = 2.0 / ((n + 1.3) ** 2 + effective)
    c_mu = min(1.0 - c_1, 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0) ** 2 + effective))
    expected = np.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
    mean, covariance = np.array(start, float), np.eye(n)
    path_sigma, path_c = np.zeros(n), np.zeros(n)
    axes, lengths = np.eye(n), np.ones(n)
    values = np.zeros(population)
    best, least = mean.copy(), np.inf
    every = max(1, int(0.5 / ((c_1 + c_mu) * n * 5.0)))  # generations between two decompositions
    for generation in range(generations):
        if generation % every == 0:
            lengths, axes = np.linalg.eigh(covariance)
            lengths = np.sqrt(np.maximum(lengths, 1e-20))
        steps = (rng.standard_normal((population, n)) * lengths) @ axes.T  # (38), (39)
        points = mean + sigma * steps  # (40)
        function(points, values)
        order = np.argsort(values)
        if values[order[0]] < least:
            best, least = points[order[0]].copy(), float(values[order[0]])
        chosen = steps[order[:parents]]
        step = weights @ chosen  # (41)
        mean = mean + sigma * step  # (42)
        whitened = axes @ ((axes.T @ step) / lengths)
        path_sigma = (1.0 - c_sigma) * path_sigma + np.sqrt(c_sigma * (2.0 - c_sigma) * effective) * whitened  # (43)
        size = np.linalg.norm(path_sigma)
        going = size / np.sqrt(1.0 - (1.0 - c_sigma) ** (2 * generation + 2)) < (1.4 + 2.0 / (n + 1.0)) * expected
        path_c = (1.0 - c_c) * path_c  # (45)
        if going:
            path_c += np.sqrt(c_c * (2.0 - c_c) * effective) * step
        missing = 0.0 if going else c_1 * c_c * (2.0 - c_c)
        covariance *= 1.0 - c_1 - c_mu + missing  # (47)
        covariance += c_1 * np.outer(path_c, path_c) + c_mu * (chosen.T * weights) @ chosen
        sigma *= float(np.exp(min(1.0, c_sigma / d_sigma * (size / expected - 1.0))))  # (44)
        if sigma * lengths.max() < 1e-5:
            break
    return best, least
