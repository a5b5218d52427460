"""The compiled core against WholeBodyModel, with each width of lanes that this processor has."""

import numpy as np
import pytest

from hexapod_dynamics.core import _core
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

LANES = [lanes for lanes in (2, 4, 8) if lanes <= _core.widest()]


@pytest.mark.parametrize("lanes", LANES)
def test_forward_dynamics_equals_the_model(lanes):
    robot = Robot.jethexa()
    morphology = Morphology.whole(robot).without("RM", "LM.tibia").locked("RF.tibia", angle=0.4)
    rng = np.random.default_rng(lanes)
    n = int(morphology.moving_mask.sum())
    q, nu, tau = rng.normal(size=18), rng.normal(size=6 + n), rng.normal(size=n)
    core = _core.Model(robot, morphology, lanes)
    expected = WholeBodyModel(robot).forward_dynamics(np.eye(3), q, nu, tau, morphology)
    accelerations = core.forward_dynamics(np.eye(3), q, nu, tau, morphology)
    np.testing.assert_allclose(accelerations, expected, rtol=1e-11, atol=1e-9)


def test_the_type_of_a_struct_comes_from_the_compiler():
    servo = _core.SERVO
    assert servo.names[:2] == ("setpoint", "rate")
    assert servo.itemsize == 8 * len(servo.names)
