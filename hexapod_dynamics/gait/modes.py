"""Actions of the adaptive gait, and what is written to its memory in the core."""

from __future__ import annotations

from enum import IntEnum

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.interface import STANDING, WALKING
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait_kinds import AdaptiveSettings


class Mode(IntEnum):
    """An action of the adaptive gait, a value of `state.mode`, numbered as `hd_mode` in core/adaptive_gait.h.

                   commanded         shifted
    STAND ----------------> START ----------> WALK
      ^  <-- all feet home, no command --------'
      |
      |        change of plan, probe      feet down
      |     any on its feet ------> SETTLE ---------> PROBE if pending, START if commanded, else STAND
      |
      |        tilted, sits, lost support    on its belly     level, may stand up
      |     any ------------------> LOWER --------------> SAT ----------> MOVE ---> RISE --.
      '------------------------------------------------------------------------------------'
    """

    STAND, START, WALK, SETTLE, LOWER, MOVE, SAT, RISE, PROBE = range(9)


# What `Gait.doing` calls each Mode.
DOING = STANDING, "shifting", WALKING, "settling", "sitting down", "moving feet", "sitting", "standing up", "pressing"
# Modes in which the robot is on its feet; in which it rests on its belly, moves down to it, or rises from it.
ON_FEET = Mode.STAND, Mode.START, Mode.WALK, Mode.SETTLE, Mode.PROBE
SITTING = Mode.LOWER, Mode.SAT, Mode.MOVE, Mode.RISE


def write_settings(walk: _core.Walk, settings: AdaptiveSettings, plan: GaitPlan | None) -> None:
    """Write the settings that can change while the robot walks; the plan decides those that are None."""
    walk.settings.yaw_gain = 2.0 if settings.yaw_hold else 0.0  # [1/s]
    walk.settings.acceleration, walk.settings.turning = settings.acceleration, settings.turning
    walk.plan.lift = settings.step_height
    if plan is not None:
        walk.settings.asked_period = settings.period or plan.period
        if plan.kind == "walk":
            walk.settings.body = walk.plan.height = settings.body_height or plan.height


def write_plan(walk: _core.Walk, plan: GaitPlan | None) -> None:
    """Write the numbers of a plan, if there is one; a robot that walks keeps its period."""
    if plan is None:
        return
    period = walk.plan.period or plan.period
    walk.plan.load(plan.numbers())
    walk.plan.period = period if walk.state.mode == Mode.WALK else plan.period
