"""Searches for the plan of a set of legs: orders of legs enumerated, the rest by CMA-ES.

The cost of a whole generation is computed by one compiled call.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import gcd
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import cycle
from hexapod_dynamics.gait.leg_table import COLUMNS, FOOTHOLD, MOUNT, PHASE, REST, USED, leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.cma_es import minimise
from hexapod_dynamics.gait.planning.evaluation import (
    APART,
    FINDINGS,
    MARGIN,
    RANGE,
    RATE,
    REACH,
    evaluate,
    make_scratch,
)
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology, Robot

# Required of a plan: reach [m], joint range [rad], share of the servos' speed, distance between legs [m].
REACH_LEFT, RANGE_LEFT, SPEED_SHARE, LEGS_APART = 0.006, 0.06, 1.05, 0.03
# A foot at the ends of its stance does not count as standing for this time [s].
GUARD_TIME = 0.02
# Margins above this [m] give no further reward.
ENOUGH = 0.035
# The fast walk of a plan: share of its period, share of the servos' speed (they saturate a little), margin [m] below
# which it is penalised.
FAST_PERIOD, FAST_SPEED_SHARE, FAST_MARGIN = 0.72, 1.35, 0.006


@dataclass(frozen=True)
class Demands:
    """Speeds a plan is made for [m/s, m/s, m/s, rad/s], and the least margin [m] to be called a plan.

    fast [m/s]: forward speed at a shorter period and with the servos at their limit; 0: not demanded.
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


@kernel
def _broken(found, speed):
    """Return the penalty for violated limits of reach, joint range, joint rates (speed [rad/s]), distance of legs."""
    broken = max(0.0, REACH_LEFT - found[REACH]) / 0.01
    broken += max(0.0, RANGE_LEFT - found[RANGE]) / 0.1
    broken += max(0.0, found[RATE] / speed - 1.0) / 0.03
    return broken + max(0.0, LEGS_APART - found[APART]) / 0.01


@kernel
def cost(x, kind, spread, phases, plan, legs, used, neutral, body, speed_limit, twists, fast, scratch, found):
    """Return the cost of a plan given as numbers x in units of 10 mm (see `_fill`), the lower the better.

    It consists of the least margin, a share of the mean margin, and penalties for violated constraints. body: its box
    and centre of mass (6,), its mass, gravity; fast [m/s]: see `Demands`.
    """
    _fill(x, kind, spread, phases, plan, legs, used, neutral)
    box, mass, gravity = body
    least, mean, broken = 1.0, 0.0, 0.0
    for t in range(twists.shape[0]):
        guard = GUARD_TIME / plan[cycle.PERIOD]
        evaluate(plan, legs, box, mass, gravity, twists[t, 0], twists[t, 1], twists[t, 2], guard, scratch, found)
        margin = min(found[MARGIN], ENOUGH)
        least = min(least, margin)
        mean += margin / twists.shape[0]
        broken += _broken(found, SPEED_SHARE * speed_limit)
    if fast > 0.0:
        plan[cycle.PERIOD] *= FAST_PERIOD
        guard = GUARD_TIME / plan[cycle.PERIOD]
        evaluate(plan, legs, box, mass, gravity, fast, 0.0, 0.0, guard, scratch, found)
        broken += _broken(found, FAST_SPEED_SHARE * speed_limit)
        broken += max(0.0, FAST_MARGIN - found[MARGIN]) / 0.004
    if used.size == 2:
        for i in range(2):
            side = 1.0 if legs[used[i], MOUNT + 1] >= 0.0 else -1.0
            broken += max(0.0, 0.5 * box[1] + BESIDE - side * legs[used[i], FOOTHOLD + 1]) / 0.01
    effort = 0.0
    for k in range(32):
        effort += plan[cycle.SWAY + k] ** 2
    far = 0.0
    for i in range(used.size):
        far += (legs[used[i], FOOTHOLD] - neutral[i, 0]) ** 2 + (legs[used[i], FOOTHOLD + 1] - neutral[i, 1]) ** 2
    return -least / 0.01 - 0.2 * mean / 0.01 + broken + 20.0 * effort + 3.0 * far


@kernel
def costs(points, out, *problem):
    """Fill out with the `cost` of each of the points; problem: the further arguments of `cost`."""
    for k in range(points.shape[0]):
        out[k] = cost(points[k], *problem)


@kernel
def _fill(x, kind, spread, phases, plan, legs, used, neutral):
    """Write the numbers x into plan and legs.

    x: footholds less the neutral ones (2 a leg), sway (8) [10 mm]; period and duty factor in steps of 0.1 s and 0.03
    from their middles; with spread, each leg's phase off its place in the order [0.05]. kind 1: rowing, without sway.
    """
    n = used.size
    for i in range(n):
        row = used[i]
        legs[row, FOOTHOLD] = neutral[i, 0] + 0.01 * x[2 * i]
        legs[row, FOOTHOLD + 1] = neutral[i, 1] + 0.01 * x[2 * i + 1]
        legs[row, PHASE] = phases[i]
    at = 2 * n
    if kind == 1:
        plan[cycle.PERIOD] = PERIODS[1, 0] + PERIODS[1, 1] * np.tanh(x[at])
        plan[cycle.DUTY] = DUTIES[1, 0] + DUTIES[1, 1] * np.tanh(x[at + 1])
        return
    sways = 32 if x.size > 2 * n + 2 + 8 + n else 8
    for k in range(sways):
        plan[cycle.SWAY + k] = 0.01 * x[at + k]
    at += sways
    row = 2 if spread != 0.0 else 0
    plan[cycle.PERIOD] = PERIODS[row, 0] + PERIODS[row, 1] * np.tanh(x[at])
    plan[cycle.DUTY] = DUTIES[row, 0] + DUTIES[row, 1] * np.tanh(x[at + 1])
    if spread != 0.0:
        for i in range(n):
            legs[used[i], PHASE] = (phases[i] + spread * np.tanh(x[at + 2 + i])) % 1.0


# Middle and half width of the allowed periods [s] and duty factors: walking on four legs, rowing, five and more legs.
PERIODS = np.array([[1.3, 0.3], [1.35, 0.2], [1.0, 0.25]])
DUTIES = np.array([[0.81, 0.025], [0.62, 0.06], [0.7, 0.09]])


class Search:
    """Plans for a robot with some legs gone.

    robot: a Robot of three-joint legs; names: the legs that walk; morphology: what is left (masses of legs held up);
    height, lift [m]; rest: joint angles (legs, 3) of legs held up.
    """

    def __init__(
        self,
        robot: Robot,
        names: Any,
        demands: Any,
        *,
        morphology: Morphology | None = None,
        height: float = 0.12,
        lift: float = 0.02,
        rest: Any = None,
        seed: int = 1,
    ) -> None:
        self.robot, self.demands, self.height, self.lift, self.seed = robot, demands, height, lift, seed
        self.names = tuple(names)
        self.table = leg_table(robot, morphology)
        if rest is not None:
            self.table[:, REST:COLUMNS] = rest
        self.used = np.array([robot.leg_names.index(name) for name in self.names])
        self.table[self.used, USED] = 1.0
        self.neutral = np.array([neutral_foothold(self.table[i]) for i in self.used])
        self.scratch, self.found = make_scratch(len(robot.legs)), np.zeros(FINDINGS)
        self.coarse = make_scratch(len(robot.legs), 24)
        self.evaluations = 0

    def plan(self) -> GaitPlan:
        """Return the best GaitPlan found; HexapodError where none keeps the least margin."""
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
        split = 2 * count + 8  # from here on the sway depends on the twist, too
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

        Raises HexapodError for a plan for other legs than those of this search, or of another kind.
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

    def _guess(self, phases: Any, spread: Any) -> np.ndarray:
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

    def _orders(self) -> list[Any]:
        """Return the orders of the legs: the first leg stays first, all others enumerated; of many legs, waves."""
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

    def _numbers(self, kind: Any) -> np.ndarray:
        plan = np.zeros(cycle.NUMBERS)
        plan[cycle.HEIGHT], plan[cycle.LIFT] = self.height, self.lift
        if kind == 1:
            rise = ROW_RISE if len(self.names) > 2 else LOW_RISE
            plan[cycle.ROWS], plan[cycle.RISE] = 1.0, rise
            plan[cycle.HEIGHT] = 0.5 * self.robot.body.box[2] + rise
        return plan

    def _minimise(
        self,
        kind: Any,
        spread: Any,
        phases: Any,
        twists: Any,
        generations: Any,
        start: Any,
        sigma: Any,
        *,
        seed: int | None = None,
        coarse: bool = True,
    ) -> Any:
        plan = self._numbers(kind)
        body = self.robot.body.box_and_com, self.robot.body.mass, self.robot.gravity
        scratch = self.coarse if coarse else self.scratch

        def judged(points: np.ndarray, values: Any) -> None:
            self.evaluations += len(points)
            costs(
                points,
                values,
                kind,
                spread,
                phases,
                plan,
                self.table,
                self.used,
                self.neutral,
                body,
                self.robot.servo.speed_limit,
                twists,
                self.demands.fast,
                scratch,
                self.found,
            )

        return minimise(judged, start, sigma, generations, seed=seed or self.seed)

    def _made(self, kind: Any, spread: Any, phases: Any, x: Any, name: str) -> GaitPlan:
        plan = self._numbers(kind)
        _fill(x, kind, spread, phases, plan, self.table, self.used, self.neutral)
        made = GaitPlan(
            kind=name,
            legs=self.names,
            phases=tuple(float(v) for v in self.table[self.used, PHASE]),
            footholds=tuple((float(a), float(b)) for a, b in self.table[self.used, FOOTHOLD : FOOTHOLD + 2]),
            duty=float(plan[cycle.DUTY]),
            period=float(plan[cycle.PERIOD]),
            height=float(plan[cycle.HEIGHT]),
            lift=self.lift,
            sway=tuple(float(v) for v in plan[cycle.SWAY : cycle.NUMBERS]),
            rise=float(plan[cycle.RISE]),
        )
        worst = self.judged(made)
        return GaitPlan(**{**made.__dict__, "margin": float(worst[:, MARGIN].min())})

    def judged(self, plan: Any, twists: Any = None) -> np.ndarray:
        """Return the findings (K, FINDINGS) of a plan at each of the twists, by default those demanded."""
        plan.fill(self.table, self.robot.leg_names)
        numbers, box = plan.numbers(), self.robot.body.box_and_com
        twists = self.demands.twists() if twists is None else twists
        out = np.zeros((len(twists), FINDINGS))
        for row, twist in zip(out, twists, strict=True):
            guard = GUARD_TIME / plan.period
            body = box, self.robot.body.mass, self.robot.gravity
            evaluate(numbers, self.table, *body, *twist, guard, self.scratch, row)
        return out


# How far [m] a rowing body rises from its belly; on two legs, where an edge of it stays on the ground.
ROW_RISE, LOW_RISE = 0.022, 0.006
# Two feet that row are this far [m] beside the body.
BESIDE = 0.05
