"""The prediction keeps nothing of single messages, whether its model is started or not, as in an hour of a stop."""

import numpy as np
import pytest
from support.allocations import least_growth
from support.jethexa import ROBOT

from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.prediction import Prediction

STAND = np.tile([0.0, 0.6, -0.5], 6)


@pytest.mark.parametrize("missing", [("imu",), ("imu", "commands"), ("following",)], ids=" ".join)
def test_memory_does_not_grow(missing):
    prediction, t = Prediction(ROBOT), 0.0
    level = ImuReading(np.eye(3), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81), (0.0, 0.0, 0.0))
    prediction.set_following("following" not in missing)

    def tick():
        nonlocal t
        t += 0.02
        if "commands" not in missing:
            prediction.command(t, STAND, np.zeros(18))
        for joint in range(18):
            prediction.joint(t, joint, float(STAND[joint]))
        if "imu" not in missing:
            prediction.imu(t, level)
        prediction.advance(t)

    assert least_growth(tick, ticks=100, stretches=3) < 2400  # 24 bytes a tick
