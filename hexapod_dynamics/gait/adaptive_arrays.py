"""Writes robot, settings and plan of the adaptive gait to the arrays that the compiled functions of the gait read."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import leg_table, plan_numbers
from hexapod_dynamics.gait.adaptive_settings import AdaptiveSettings
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Robot

YAW_GAIN, YAW_LIMIT = 2.0, 0.3  # of the yaw hold [1/s], [rad/s]
FOLDING_SPEED = 0.4  # share of the servos' speed at which legs are held up


def new_walk(robot: Robot, settings: AdaptiveSettings) -> layout.Walk:
    """Return the arrays for a robot, with the settings that do not change and without a plan."""
    n = len(robot.legs)
    walk = layout.Walk(
        plan=np.zeros(plan_numbers.NUMBERS),
        legs=leg_table.leg_table(robot),
        settings=np.zeros(layout.SETTINGS),
        command=np.zeros(layout.COMMAND),
        state=np.zeros(layout.STATE),
        feet=np.zeros((n, layout.FEET)),
        start=np.zeros(3 * n),
        position=np.zeros(3 * n),
        velocity=np.zeros(3 * n),
    )
    numbers, speed = walk.settings, robot.servo.speed_limit
    numbers[layout.SPEED], numbers[layout.FOLDING] = speed, FOLDING_SPEED * speed
    numbers[layout.YAW_LIMIT], numbers[layout.TILT] = YAW_LIMIT, settings.tilt_limit
    numbers[layout.BELLY] = 0.5 * robot.body.box[2] + 0.001
    return walk


def write_settings(walk: layout.Walk, settings: AdaptiveSettings, plan: GaitPlan | None) -> None:
    """Write the settings that can change while the robot walks; the plan decides those that are None."""
    walk.settings[layout.YAW_GAIN] = YAW_GAIN if settings.yaw_hold else 0.0
    walk.settings[layout.ACCELERATION], walk.settings[layout.TURNING] = settings.acceleration, settings.turning
    walk.plan[plan_numbers.LIFT] = settings.step_height
    if plan is not None:
        walk.settings[layout.ASKED_PERIOD] = settings.period or plan.period
        if plan.kind == "walk":
            walk.settings[layout.BODY] = walk.plan[plan_numbers.HEIGHT] = settings.body_height or plan.height


def write_plan(walk: layout.Walk, robot: Robot, plan: GaitPlan | None, table: np.ndarray, held: list[str]) -> None:
    """Write the present legs (`table`, see leg_table) and their plan; held: names of legs that are held up.

    A robot that walks keeps its period. Without a plan, all legs that can carry the body do so while the robot
    sits down.
    """
    walk.legs[:] = table
    if plan is None:
        for row, leg in zip(walk.legs, robot.legs, strict=True):
            row[leg_table.USED] = leg.name not in held
            row[leg_table.FOOTHOLD : leg_table.REST] = leg_table.neutral_foothold(row)
        return
    plan.fill(walk.legs, robot.leg_names)
    period = walk.plan[plan_numbers.PERIOD] or plan.period
    walk.plan[:] = plan.numbers()
    walk.plan[plan_numbers.PERIOD] = period if walk.state[layout.MODE] == layout.WALK else plan.period
