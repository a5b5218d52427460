"""Searches manoeuvres that turn a robot over, for the legs that are left: CMA-ES over falls in MuJoCo.

A manoeuvre is judged from the back on, in STAR, under conditions that differ in friction, mass, strength and servos:
what works under one of them is often dynamic and fails under the next. They come one after the other, and the first
that fails ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.get_up import STAR, TUCK, UPRIGHT, WITHIN
from hexapod_dynamics.gait.get_up_library import GetUpLibrary
from hexapod_dynamics.gait.get_up_manoeuvre import (
    Manoeuvre,
    best_side,
    joint_poses,
    other_side,
    pose_angles,
    poses_of,
)
from hexapod_dynamics.gait.planning.cma_es import minimise
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth

# What every search starts from: a roll that was found for the JetHexa on all legs, left side pushing.
FIRST = Manoeuvre(
    poses=poses_of(
        np.array(
            [
                [-1.72, 1.72, 0.90, 1.37, -0.72, -0.39],
                [-1.72, -0.12, 1.17, 0.07, -1.67, -0.23],
                [1.27, -0.31, -0.03, 1.16, 1.38, 0.72],
                [0.59, 0.67, -1.03, 1.19, 1.34, 0.94],
            ]
        )
    ),
    times=(0.83, 0.55, 0.19, 0.21),
    pushers="left",
)
CONDITIONS = (
    "friction=0.7",
    "servos=real,seed=11,friction=0.55,mass=1.1",
    "servos=real,seed=12,friction=0.9,mass=0.95,stiffness=0.85",
    "servos=real,seed=13,friction=0.6,mass=1.0,stiffness=1.15",
    "servos=real,seed=14,friction=0.8,mass=1.05",
    "servos=real,seed=15,friction=0.5,mass=0.9",
    "servos=real,seed=16,friction=0.75,mass=1.1,stiffness=0.9",
)
TIMESTEP, TICK = 2e-3, 0.02  # [s]
TUCKS, HOLDS = 0.8, 0.5  # [s]
SIGMA = 0.2  # [rad], first step of the search
SATURATION = 0.2  # [s] of a servo at its limit, in a row, from which on it counts


class RollTrial:
    """Executes manoeuvres on a robot on its back, without the legs `lost`, no joint faster than speed [rad/s]."""

    def __init__(self, robot: Robot, lost: Iterable[str], speed: float, conditions: Iterable[str] = CONDITIONS) -> None:
        self.robot, self.lost, self.speed = robot, tuple(lost), speed
        morphology = Morphology.whole(robot).without(*self.lost)
        self._physics = [
            MujocoSimulator(robot, morphology, timestep=TIMESTEP, truth=Truth.parse(text)) for text in conditions
        ]
        limits = np.array([joint.planned_range for leg in robot.legs for joint in leg.joints])
        self._low, self._high = limits[:, 0] + WITHIN, limits[:, 1] - WITHIN
        self._moves = morphology.moving_mask

    def cost(self, manoeuvre: Manoeuvre) -> float:
        """Return the number of conditions that are left from the first that fails on, and how far that failed; below
        0.5: it serves them all, and the less the gentler.
        """
        worst = 0.0
        for k, physics in enumerate(self._physics):
            up, at_limit = self._roll(physics, manoeuvre)
            if up < UPRIGHT:
                return len(self._physics) - k + 1.0 - up
            worst = max(worst, at_limit)
        return min(0.45, 0.1 * worst / SATURATION)

    def passes(self, manoeuvre: Manoeuvre) -> bool:
        """Return whether the manoeuvre turns the robot over under all conditions."""
        return self.cost(manoeuvre) < 0.5

    def _roll(self, physics: MujocoSimulator, manoeuvre: Manoeuvre) -> tuple[float, float]:
        """Return the upward component of the body's z axis at the end, and the longest time [s] of a servo in a row at
        its torque limit.
        """
        star = np.clip(pose_angles(self.robot, STAR, STAR), self._low, self._high)
        physics.reset(rotation=np.diag([1.0, -1.0, -1.0]), joints=star)
        here, limit = star, 0.99 * self.robot.servo.torque_limit
        at_limit, longest = np.zeros(len(star)), 0.0
        moves = list(zip(joint_poses(self.robot, manoeuvre), manoeuvre.times, strict=True))
        moves.append((pose_angles(self.robot, TUCK, TUCK), TUCKS))
        for k, (angles, least) in enumerate(moves):
            target = np.clip(angles, self._low, self._high)
            lasts = max(least, float(np.abs(target - here)[self._moves].max()) / self.speed)
            ticks = max(1, round(lasts / TICK))
            for tick in range(ticks + (round(HOLDS / TICK) if k + 1 == len(moves) else 0)):
                physics.command(here + min(1.0, (tick + 1) / ticks) * (target - here), TICK)
                physics.step(round(TICK / TIMESTEP))
                at_limit = np.where(np.abs(physics.joint_torques) >= limit, at_limit + TICK, 0.0)
                longest = max(longest, float(at_limit.max()))
            here = target
        return float(physics.rotation[2, 2]), longest


class _Found(Exception):
    """A manoeuvre serves all conditions."""


def search_manoeuvre(
    trial: RollTrial, start: Manoeuvre, *, generations: int = 40, seed: int = 1, gentle: float = 0.45
) -> tuple[Manoeuvre | None, int]:
    """Return the first manoeuvre found from `start` on whose cost is below `gentle`, None if there is none, and how
    many were tried.
    """
    tried, best, least = 0, start, np.inf

    def judge(points: np.ndarray, values: np.ndarray) -> None:
        nonlocal tried, best, least
        for k, point in enumerate(points):
            manoeuvre = start.with_numbers(point)
            values[k] = trial.cost(manoeuvre)
            tried += 1
            if values[k] < least:
                best, least = manoeuvre, float(values[k])
            if least < gentle:
                raise _Found

    try:
        minimise(judge, start.numbers(), SIGMA, generations, seed=seed)
    except _Found:
        pass
    return (best if least < 0.5 else None), tried


def find_manoeuvre(
    robot: Robot, lost: Iterable[str], start: Manoeuvre, *, speed: float, seeds: Iterable[int], generations: int = 40
) -> tuple[Manoeuvre | None, int]:
    """Return a manoeuvre for a set of lost legs, from `start` and its mirror image on, and how many were tried."""
    lost = tuple(lost)
    trial, count = RollTrial(robot, lost, speed), 0
    side = best_side(robot, lost) or "left"
    for seed in seeds:
        for pushers in (side, other_side(side)):
            begin = Manoeuvre(start.poses, start.times, pushers, lost)
            found, tried = search_manoeuvre(trial, begin, generations=generations, seed=seed)
            count += tried
            if found is not None:
                return found, count
    return None, count


def make_get_up_library(
    robot: Robot,
    report: Callable[[tuple[str, ...], str], None],
    library: GetUpLibrary,
    *,
    speed: float = 2.0,
    most_lost: int = 3,
    sets: Iterable[tuple[str, ...]] | None = None,
    seeds: Iterable[int] = (1, 2),
    generations: int = 40,
) -> GetUpLibrary:
    """Add to a library what is needed for every set of lost legs, one of each mirror pair; return it.

    report: called with (set, what was found) after each. HexapodError where the whole robot finds no manoeuvre.
    """
    if library.universal is None:
        found, tried = find_manoeuvre(robot, (), FIRST, speed=speed, seeds=seeds, generations=generations)
        if found is None:
            raise HexapodError(f"robot {robot.name}: none of {tried} manoeuvres turns it over on all legs")
        library.add(found)
        report((), f"found after {tried}")
    if library.universal is None:
        raise HexapodError("a library needs a manoeuvre for all legs")
    for lost in PlanLibrary(robot).classes(most_lost) if sets is None else sets:
        trial = RollTrial(robot, lost, speed)
        if any(trial.passes(one) for one in library.manoeuvres(lost)[:1]):
            report(lost, "served")
            continue
        found, tried = find_manoeuvre(robot, lost, library.universal, speed=speed, seeds=seeds, generations=generations)
        if found is not None:
            library.add(found)
        report(lost, f"found after {tried}" if found is not None else f"none of {tried} serves")
    return library
