"""Settings and actions of the adaptive gait, and what is written to its memory in the core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TypedDict

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import WALKING
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait_kinds import ADAPTIVE, BOUNDS

# Settings that can change while the robot walks.
LIVE = ("step_height", "body_height", "period", "yaw_hold", "acceleration", "turning", "weighing_sway")


class SettingValues(TypedDict, total=False):
    """Keywords of `AdaptiveGait`: the fields of AdaptiveSettings."""

    step_height: float
    body_height: float | None
    period: float | None
    acceleration: float
    turning: float
    yaw_hold: bool
    tilt_limit: float
    pattern: str
    weighing_sway: float


@dataclass(frozen=True)
class AdaptiveSettings:
    """Settings of `AdaptiveGait`; HexapodError names a value out of its range.

    step_height [m]: lift of a swinging foot. body_height [m]: height of base_link over the ground; None: that of the
    plan. period [s]: of the cycle; None: the plan's, shorter for fast commands. acceleration [m/s^2] and turning
    [rad/s^2] limit how the twist follows a command. yaw_hold: corrects the heading by the yaw given to `sense`.
    tilt_limit [rad]: a body tilted further sits down without waiting for a diagnosis; 0: never. pattern: "auto", or
    "wave" or "ripple": these gaits on the legs that are left, without a plan and its sway. weighing_sway [m]: sway of
    the walking body while a load is weighed (terrain.py).
    """

    step_height: float = 0.02
    body_height: float | None = None
    period: float | None = None
    acceleration: float = 0.25
    turning: float = 1.0
    yaw_hold: bool = True
    tilt_limit: float = math.radians(8.0)
    pattern: str = "auto"
    weighing_sway: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name not in BOUNDS or (value is None and name in ("body_height", "period")):
                continue
            low, high, unit = BOUNDS[name]
            if not (isinstance(value, (int, float)) and low <= value <= high):
                raise HexapodError(f"{name}: given {value!r}, allowed are {low} to {high} {unit}")
        if self.pattern not in ADAPTIVE:
            raise HexapodError(f"pattern: given {self.pattern!r}, allowed are {', '.join(ADAPTIVE)}")


# ---- actions ---------------------------------------------------------------------------------------------------------


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
DOING = (
    *("standing", "shifting", WALKING, "settling"),
    *("sitting down", "moving feet", "sitting", "standing up", "pressing"),
)
# Modes in which the robot is on its feet; in which it rests on its belly, moves down to it, or rises from it.
ON_FEET = Mode.STAND, Mode.START, Mode.WALK, Mode.SETTLE, Mode.PROBE
SITTING = Mode.LOWER, Mode.SAT, Mode.MOVE, Mode.RISE


# ---- the memory of the tick -----------------------------------------------------------------------------------------


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
