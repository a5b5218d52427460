"""The frames of the tree against Pinocchio, which gets the robot from its description and not from the tree."""

import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


@pytest.mark.parametrize("seed", range(5))
def test_the_feet_are_where_pinocchio_has_them(seed):
    """1e-12 m: both multiply a handful of matrices of order one."""
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, 18)
    morphology = WHOLE.without("RM", "LM.tibia").locked("RF.tibia", 0.4).broken("LF.tibia", 0.5)
    model = PinocchioRobot(morphology)
    pin.framesForwardKinematics(model.model, model.data, model.configuration(np.eye(3), q))
    ours = LinkTree(ROBOT, morphology).base_poses(q)
    assert "foot_RM" not in ours
    for leg in ("LF", "LM", "LR", "RR", "RF"):
        theirs = model.data.oMf[model.tips[leg]].homogeneous
        np.testing.assert_allclose(ours[f"foot_{leg}"], theirs, atol=1e-12)
