"""Commands that are refused as a whole: far beyond the limits, too old, from a second source."""

import math

import numpy as np
import pytest

from hexapod_dynamics.onboard.inputs import (
    POSITION_MARGIN,
    SPEED_MARGIN,
    Faults,
    JointInput,
    SourceLock,
    stamp_refusal,
)
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
ALL, UPPER = ROBOT.joint_names, np.array([joint.upper for joint in ROBOT.joints])
refusal = JointInput(ROBOT, Faults()).command_refusal


def test_what_the_joints_can_do_is_accepted():
    assert refusal(ALL, np.zeros(18), np.zeros(18)) == ""
    assert refusal(ALL, UPPER + 0.99 * POSITION_MARGIN) == ""
    assert refusal(ALL[:2], [0.1, math.nan], [math.nan, 1.0]) == "", "NaN asks nothing of a joint"
    assert refusal(ALL[:0], []) == ""


@pytest.mark.parametrize("value", [1e308, -1e308, math.inf, -math.inf, 2.6])
def test_one_position_far_beyond_refuses_the_whole_command_and_is_named(value):
    reason = refusal(ALL[3:6], [0.0, value, 0.0])
    assert "femur_joint_LM" in reason and f"{value:.6g} rad" in reason and str(POSITION_MARGIN) in reason


@pytest.mark.parametrize("value", [1e300, -1e300, math.inf, 1.01 * SPEED_MARGIN * ROBOT.servo.speed_limit])
def test_one_velocity_far_beyond_refuses_the_whole_command_and_is_named(value):
    reason = refusal(ALL, np.zeros(18), np.r_[np.zeros(17), value])
    assert "tibia_joint_RF" in reason and "rad/s" in reason


def test_as_many_values_as_joints_are_needed():
    assert "18 joints and 1 positions" in refusal(ALL, [0.0])
    assert "18 joints and 2 velocities" in refusal(ALL, np.zeros(18), [0.0, 0.0])


def test_old_and_future_stamps_are_refused():
    assert stamp_refusal(0.29, 0.3) == stamp_refusal(-0.29, 0.3) == ""
    assert "3.6e+03 s old" in stamp_refusal(3600.0, 0.3)
    assert "in the future" in stamp_refusal(-3600.0, 0.3)


def test_one_source_at_a_time():
    one = SourceLock(0.3)
    assert one.accepts("gait 1", 10.0) and not one.accepts("gait 2", 10.1) and one.accepts("gait 1", 10.2)
    assert not one.accepts("", 10.49) and one.accepts("gait 2", 10.51) and not one.accepts("gait 1", 10.6)
