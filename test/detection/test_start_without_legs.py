"""A robot that starts with legs that are gone: their servos have never answered."""

import numpy as np
import pytest

from hexapod_dynamics.detection.detector import DamageDetector
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()


@pytest.mark.parametrize("lost", [(), ("RM",), ("RM", "LM")])
def test_legs_that_never_answer_are_declared_missing_within_five_seconds(lost):
    detector = DamageDetector(ROBOT)
    silent = np.zeros(ROBOT.joint_count, bool)
    for leg in lost:
        silent[list(ROBOT.leg_joints(leg))] = True
    angles = np.where(silent, np.nan, 0.1)
    found = {}
    for tick in range(250):
        time = 0.02 * tick
        detector.command(time, np.full(ROBOT.joint_count, 0.1))
        detector.measure_joints(time, angles)
        if tick % 50 == 0:
            detector.bus(time, silent, np.zeros_like(silent))
        for decision in detector.update(time + 0.005):
            found |= decision.values
    assert found == {f"legs.{leg}": False for leg in lost}
