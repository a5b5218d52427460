"""The model that runs beside the robot executes commands as the robot's servos do."""

import numpy as np
import pytest

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


def started(settings):
    model = RunningModel(ROBOT, settings)
    model.command(0.0, np.zeros(ROBOT.joint_count))
    assert model.start(np.zeros(ROBOT.joint_count), WHOLE)
    return model


@pytest.mark.parametrize("approach", [0.2, 0.8])
def test_a_leap_is_approached_at_the_speed_of_the_configured_guard(approach):
    model = started(DetectorSettings(guard=GuardSettings(approach_speed=approach, step_limit=0.1)))
    for k in range(1, 26):
        model.command(0.02 * k, np.full(ROBOT.joint_count, 0.3))
    model.advance(0.6)
    assert model.targets[model.row(model.tick - 1)] == pytest.approx(min(0.3, approach * 0.5), abs=0.02)


@pytest.mark.parametrize("period", [0.02, 0.05, 0.1])
def test_a_command_that_is_punctual_is_never_taken_for_a_missing_one(period):
    model = started(DetectorSettings(command_period=period))
    for k in range(1, 50):
        model.command(period * k, np.full(ROBOT.joint_count, 0.01 * k))
        for part in range(1, 5):
            model.advance(period * (k + 0.25 * part))
    assert model.tick == 50 and np.isfinite(model.targets[:50]).all()
