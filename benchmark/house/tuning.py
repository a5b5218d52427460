"""Improves a walk in their simulator, on tuning seeds only: CMA-ES over footholds, phases, sway, period, height, speed.

Every candidate of a generation walks the same two episodes: the lost legs and their mirror image, each with a seed out
of 100 to 109 and the loss at a random moment of the tripod's cycle, so that a plan does not depend on either.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from house.recovery import COMMANDED, Recovery, Walk, entry_of, load_walks
from house.robot import House

from hexapod_dynamics.gait.planning.plan import mirror_partners
from hexapod_dynamics.gait.planning.search import minimise

SEEDS = (100, 110)
BEFORE, AFTER, SETTLE = 1.6, 4.5, 1.5  # [s] of walking before the loss and after it, of which the first do not count
ENOUGH = 0.24  # [m/s] above which a speed is no better
FALL = 1.0  # what a fall costs [m/s], less a little for each second before it
GENERATIONS, SIGMA = 400, 0.4


def decoded(x: np.ndarray, walk: Walk) -> Walk:
    """Return the walk that a point x (3 K + 14,) describes: how it differs from another walk on the same K legs."""
    plan, k = walk.plan, len(walk.plan.legs)
    feet, sways, phases, rest = np.split(x, [2 * k, 2 * k + 8, 3 * k + 8])
    sway = np.zeros(32)
    sway[:8] = np.array(plan.sway[:8]) + 0.01 * sways
    period, duty, height, lift, speed, start = rest
    changed = replace(
        plan,
        footholds=tuple(map(tuple, (np.array(plan.footholds) + 0.01 * feet.reshape(k, 2)).tolist())),
        phases=tuple(((np.array(plan.phases) + 0.08 * phases) % 1.0).tolist()),
        sway=tuple(sway.tolist()),
        period=float(np.clip(plan.period * np.exp(0.15 * period), 0.3, 1.6)),
        duty=float(np.clip(plan.duty + 0.05 * duty, 0.4, 0.9)),
        height=float(np.clip(plan.height + 0.01 * height, 0.06, 0.19)),
        lift=float(np.clip(plan.lift + 0.01 * lift, 0.01, 0.09)),
    )
    return Walk(changed, float(walk.speed * np.exp(0.2 * speed)), float((walk.start + 0.2 * start) % 1.0))


class Judge:
    """Scores walks of a case by short episodes of their environment."""

    def __init__(self, house: House, lost: tuple[int, ...], seed: int = 5) -> None:
        self.house, self.lost = house, tuple(lost)
        self.mirrored = tuple(sorted((leg + 3) % 6 for leg in lost))
        self.partners = mirror_partners(house.robot)
        self.random = np.random.default_rng(seed)
        self.controller = Recovery(house, {}, told=True)
        self.env = house.env.HexapodEnv("flat", rand=0.1, target_speed=COMMANDED)

    def trials(self) -> list[tuple[tuple[int, ...], int, float]]:
        """Return lost legs, seed and time of the loss of two episodes."""
        draw = self.random
        return [
            (legs, int(draw.integers(*SEEDS)), BEFORE + draw.uniform(0.0, 0.8)) for legs in (self.lost, self.mirrored)
        ]

    def cost(self, walk: Walk, trials: list[tuple[tuple[int, ...], int, float]]) -> float:
        """Return the mean cost [m/s] of a walk in these episodes; no further ones after a fall."""
        image = replace(walk, plan=walk.plan.mirror(self.partners))
        self.controller.walks = {self.mirrored: image, self.lost: walk}
        total = 0.0
        for done, (legs, seed, at) in enumerate(trials, start=1):
            value, fell = self._episode(legs, seed, at)
            total -= min(value, ENOUGH) / len(trials)
            if fell:
                return total + FALL * (len(trials) - done) / len(trials)
        return total

    def _episode(self, legs: tuple[int, ...], seed: int, at: float) -> tuple[float, bool]:
        env, controller = self.env, self.controller
        env.max_time = at + AFTER
        env.fault_list = [self.house.faults.Fault("disable_leg", at, leg=leg) for leg in legs]
        env.reset(seed=seed)
        controller.reset()
        start = None
        while True:
            _, _, fell, over, _ = env.step(controller.act(env))
            if start is None and env.t >= at + SETTLE:
                start = float(env.data.qpos[0])
            if fell:
                return -FALL + 0.1 * (env.t - at), True
            if over:
                return (float(env.data.qpos[0]) - start) / (AFTER - SETTLE), False


class _OutOfTime(Exception):
    """The time for a search is over."""


def tune(house: House, lost: tuple[int, ...], seconds: float, path: Path) -> None:
    """Improve the walk of a case for so many seconds and write it to the file if it is better in fresh episodes."""
    lost = tuple(lost)
    walk, judge, begin = load_walks(house, path)[lost], Judge(house, lost), time.monotonic()
    walk = replace(walk, plan=replace(walk.plan, margin=0.0))
    state = {"mean": np.zeros(3 * len(walk.plan.legs) + 14), "generation": 0}

    def judged(points: np.ndarray, values: np.ndarray) -> None:
        trials = judge.trials()
        for k, x in enumerate(points):
            values[k] = judge.cost(decoded(x, walk), trials) + 0.002 * float(np.square(x).mean())
        best = points[np.argsort(values)[: max(1, len(values) // 2)]]
        state["mean"] = 0.5 * state["mean"] + 0.5 * best.mean(axis=0) if state["generation"] else best.mean(axis=0)
        state["generation"] += 1
        if state["generation"] % 5 == 1:
            print(
                f"{lost} generation {state['generation']}: best {values.min():.3f}, median {np.median(values):.3f}",
                flush=True,
            )
        if time.monotonic() - begin > seconds:
            raise _OutOfTime

    try:
        minimise(judged, state["mean"], SIGMA, GENERATIONS, seed=1)
    except _OutOfTime:
        pass
    found, fresh = decoded(state["mean"], walk), [judge.trials() for _ in range(5)]
    before, after = (float(np.mean([judge.cost(one, trials) for trials in fresh])) for one in (walk, found))
    print(f"{lost}: {before:.3f} before, {after:.3f} after {state['generation']} generations", flush=True)
    if after < before:
        _keep(path, found)


def _keep(path: Path, walk: Walk) -> None:
    """Write a walk to the file, in place of the one of the same legs."""
    legs = list(walk.plan.legs)
    entries = [entry for entry in yaml.safe_load(path.read_text()) if entry["legs"] != legs]
    entries.append(entry_of(walk))
    entries.sort(key=lambda entry: (-len(entry["legs"]), entry["legs"]))
    head = "# Walks for HexaHeal's robot, found by `benchmark/hexaheal.py --tune` on seeds 100 to 109.\n"
    path.write_text(head + yaml.safe_dump(entries, sort_keys=False, width=118, default_flow_style=None))
