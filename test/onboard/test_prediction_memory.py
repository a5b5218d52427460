"""The prediction keeps nothing of single messages, whether its model is started or not, as in an hour of a stop; it
computes torques once a command.
"""

import numpy as np
import pytest
from support.allocations import least_growth

from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.prediction import SILENT, Prediction, PredictionSettings
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
STAND = np.tile([0.0, 0.6, -0.5], 6)
LEVEL = ImuReading(np.eye(3), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0))


@pytest.mark.parametrize("rate", [100, 200])
@pytest.mark.parametrize("age", [0.002, 0.004, 0.0045])
def test_torques_are_computed_once_a_command_and_again_when_the_commands_end(rate, age):
    prediction, ticks = Prediction(ROBOT, PredictionSettings(command_period=0.02)), rate // 50

    def torques_of(k, commanded=True):
        """Return how often torques come with the command of the time 0.02 k, which is `age` old at the next tick."""
        for joint in range(18):
            prediction.joint(0.02 * k, joint, float(STAND[joint]))
        prediction.imu(0.02 * k, LEVEL)
        if commanded:
            prediction.command(0.02 * k, STAND, np.zeros(18))
        return sum(prediction.advance(0.02 * k + age + tick / rate)[1] is not None for tick in range(ticks))

    assert [torques_of(k) for k in range(1, 60)][9:] == [1] * 50
    silent = 60 + round(SILENT / 0.02)
    assert [torques_of(k, commanded=False) for k in range(60, silent + 10)][-5:] == [ticks] * 5


@pytest.mark.parametrize("missing", [("imu",), ("imu", "commands"), ("following",)], ids=" ".join)
def test_memory_does_not_grow(missing):
    prediction, t = Prediction(ROBOT), 0.0
    prediction.set_following("following" not in missing)

    def tick():
        nonlocal t
        t += 0.02
        if "commands" not in missing:
            prediction.command(t, STAND, np.zeros(18))
        for joint in range(18):
            prediction.joint(t, joint, float(STAND[joint]))
        if "imu" not in missing:
            prediction.imu(t, LEVEL)
        prediction.advance(t)

    assert least_growth(tick, ticks=100, stretches=3) < 2400  # 24 bytes a tick
