"""The actions of the adaptive gait; its memory for a robot, and what settings and plans write there."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.adaptive_settings import AdaptiveSettings
from hexapod_dynamics.gait.leg_table import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Robot

YAW_GAIN, YAW_LIMIT = 2.0, 0.3  # of the yaw hold [1/s], [rad/s]
FOLDING_SPEED = 0.4  # share of the servos' speed at which legs are held up


class Mode(IntEnum):
    """An action of the adaptive gait, a value of `state.mode`; the tick in core/adaptive_modes.h executes it.

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

    STAND = _core.MODES["STAND"]
    START = _core.MODES["START"]
    WALK = _core.MODES["WALK"]
    SETTLE = _core.MODES["SETTLE"]
    LOWER = _core.MODES["LOWER"]
    MOVE = _core.MODES["MOVE"]
    SAT = _core.MODES["SAT"]
    RISE = _core.MODES["RISE"]
    PROBE = _core.MODES["PROBE"]


# Modes in which the robot is on its feet; in which it rests on its belly, moves down to it, or rises from it.
ON_FEET = Mode.STAND, Mode.START, Mode.WALK, Mode.SETTLE, Mode.PROBE
SITTING = Mode.LOWER, Mode.SAT, Mode.MOVE, Mode.RISE
# What `Gait.doing` calls each mode.
DOING = {
    Mode.STAND: "standing",
    Mode.START: "shifting",
    Mode.WALK: "walking",
    Mode.SETTLE: "settling",
    Mode.LOWER: "sitting down",
    Mode.MOVE: "moving feet",
    Mode.SAT: "sitting",
    Mode.RISE: "standing up",
    Mode.PROBE: "pressing",
}


def new_walk(robot: Robot, settings: AdaptiveSettings) -> _core.Walk:
    """Return the memory for a robot, with the settings that do not change and without a plan."""
    walk, speed = _core.Walk(leg_table(robot)), robot.servo.speed_limit
    walk.settings.speed, walk.settings.folding = speed, FOLDING_SPEED * speed
    walk.settings.yaw_limit, walk.settings.tilt = YAW_LIMIT, settings.tilt_limit
    walk.settings.belly = 0.5 * robot.body.box[2] + 0.001
    return walk


def write_settings(walk: _core.Walk, settings: AdaptiveSettings, plan: GaitPlan | None) -> None:
    """Write the settings that can change while the robot walks; the plan decides those that are None."""
    walk.settings.yaw_gain = YAW_GAIN if settings.yaw_hold else 0.0
    walk.settings.acceleration, walk.settings.turning = settings.acceleration, settings.turning
    walk.plan.lift = settings.step_height
    if plan is not None:
        walk.settings.asked_period = settings.period or plan.period
        if plan.kind == "walk":
            walk.settings.body = walk.plan.height = settings.body_height or plan.height


def write_plan(walk: _core.Walk, robot: Robot, plan: GaitPlan | None, table: np.ndarray, held: list[str]) -> None:
    """Write the present legs (`table`, see leg_table) and their plan; held: names of legs that are held up.

    A robot that walks keeps its period. Without a plan, all legs that can carry the body do so while the robot
    sits down.
    """
    walk.legs[:] = table
    if plan is None:
        for row, leg in zip(walk.legs, robot.legs, strict=True):
            row["used"] = leg.name not in held
            row["foothold"] = neutral_foothold(row)
        return
    plan.fill(walk.legs, robot.leg_names)
    period = walk.plan.period or plan.period
    walk.plan.load(plan.numbers())
    walk.plan.period = period if walk.state.mode == Mode.WALK else plan.period
