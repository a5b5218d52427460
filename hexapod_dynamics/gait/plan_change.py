"""Change of plan while the robot walks: whether the feet support the body, and the phase at which the new plan
starts.

A change is computed on a copy of the gait (`PlanChange`), in another thread if the gait has a PlanWorker; the gait
itself applies it in a tick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.adaptive_settings import AdaptiveSettings
from hexapod_dynamics.gait.modes import Mode
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology, Robot

# The robot need not sit down for a change of plan if the centre of mass is this far [m] inside the polygon of all
# remaining feet.
HOLDS = 0.015
# Phases at which a new plan may start, shares of the command that are tried, number of cycles with that share.
PHASES, SHARES, EASY_CYCLES = 24, (1.0, 0.85, 0.7, 0.55, 0.4, 0.2), 0.4
# Scores [m] above which a start is good, and below which the robot sits down.
GOOD, SAFE = 0.0, -0.002


class Transition(Enum):
    """How a robot changes to a new plan."""

    KEEP = "the plan is the one before"
    SHIFT = "the same steps, to other places"
    SIT = "sits down and stays: there is no plan"
    LOWER = "sits down, moves its feet and stands up"
    GO_ON = "goes on from where its feet are"
    RESTART = "walks on with the same plan, from where a foot was pressed down"


@dataclass(frozen=True)
class PlanChange:
    """A change of plan that was computed on a copy of the gait.

    morphology, settings, mode: of the gait at the time of the request. plan: the new plan, None if there is none.
    table (legs,): the leg table; held: names of legs that are held up; awaited: rows of those of them that
    are restored and have not arrived. used: settings in use; given_up: names of settings that are replaced by
    those of the plan. why: reason why there is no plan. wanted, followed, asked_period: the given command, the
    command that is followed, and its period [s]. phase, easy: phase at which the plan starts, share of the command
    in its first cycles; only for GO_ON and RESTART.
    """

    morphology: Morphology | None
    settings: AdaptiveSettings
    mode: float
    plan: GaitPlan | None
    table: np.ndarray
    held: tuple[str, ...]
    awaited: tuple[int, ...]
    used: AdaptiveSettings
    given_up: str
    why: str
    transition: Transition
    wanted: tuple[float, float, float] | None
    followed: np.ndarray
    asked_period: float
    phase: float = 0.0
    easy: float = 1.0


def stance_holds(robot: Robot, walk: _core.Walk, legs: tuple[str, ...]) -> bool:
    """Return whether the feet of these legs (names), set down at their present places, support the body."""
    names = robot.leg_names
    feet = np.array([walk.feet["place"][names.index(name), :2] for name in legs])
    points = feet - walk.state.from_sway
    return bool(_core.hull_margin(points, len(points), *center_of_mass(robot, walk)) >= HOLDS)


def center_of_mass(robot: Robot, walk: _core.Walk) -> np.ndarray:
    """Return the centre of mass (2,) [m] of the robot in base_link at the present set-points."""
    table = walk.legs
    total, moment = robot.body.mass, robot.body.mass * robot.body.com[:2]
    for i, masses in enumerate(table["mass"]):
        centres, _ = _core.link_points(table, i, walk.position[3 * i : 3 * i + 3])
        total += masses.sum()
        moment += masses @ centres[:, :2]
    return moment / total


def continue_from(walk: _core.Walk, sway: tuple[float, float], up: float) -> None:
    """Let sway (2,) and height `up` [m] of the body under the previous plan change smoothly to those of the new
    plan.
    """
    state = walk.state
    state.from_sway, state.weight = sway, 0.0
    state.height += up
    state.skip_pause = 1.0


def is_shifted(plan: GaitPlan | None, before: GaitPlan | None) -> bool:
    """Return whether a plan to walk differs from the previous one only in its footholds, because the weight of the
    legs that are held up has changed: the feet then step there while they walk, and nothing else changes.
    """
    if plan is None or before is None or plan.kind == "row" or plan.legs != before.legs:
        return False
    return replace(plan, footholds=before.footholds) == before


def best_start(robot: Robot, walk: _core.Walk) -> tuple[float, float, float]:
    """Return how to continue with the plan from the present places of the feet: phase, share of the command, and
    its score [m].

    Each phase is simulated (see `Walk.rehearse`), first with the whole command, then with a smaller share if that is
    not stable: a foot that has not stepped yet then moves back less far. Below the score SAFE the robot should sit
    down.
    """
    twin, found = walk.copy(), _core.FirstCycle()
    body = robot.body.box_and_com, robot.body.mass, robot.gravity
    best = 0.0, 1.0, -np.inf
    for share in SHARES:
        for phase in np.arange(PHASES) / PHASES:
            twin.load(walk)
            state = twin.state
            state.phase, state.sensed, state.tilted = phase, 0.0, 0.0
            state.command_scale, state.scaled_cycles = share, EASY_CYCLES
            twin.enter(Mode.SETTLE)
            twin.rehearse(*body, best[2], found)
            if found.score > best[2]:
                best = float(phase), share, found.score
            if best[2] >= _core.PLENTY:
                return best
        if best[2] >= GOOD:
            break
    return best
