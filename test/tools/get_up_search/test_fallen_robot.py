"""Falls in MuJoCo, with servos, bus and IMU that err: it gets up, also without a leg, and does not move if held."""

import numpy as np
import pytest

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.get_up import GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools.get_up_search.fallen_robot import FallenRobot, draw_joints, draw_truth

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
GAIT = AdaptiveGait().bind(ROBOT)
STANCE = GAIT.position.copy()
ON_ITS_BACK = np.diag([1.0, -1.0, -1.0])


def fallen(actual=WHOLE, seed=3):
    random = np.random.default_rng(seed)
    get_up = GetUp(ROBOT, GetUpLibrary.load_for_robot(ROBOT))
    robot = FallenRobot(ROBOT, get_up, truth=draw_truth(random, seed), actual=actual, seed=seed)
    robot.drop(0.2, ON_ITS_BACK, draw_joints(STANCE, random))
    return robot


@pytest.mark.parametrize("lost", [(), ("RM",)], ids=["whole", "without RM"])
def test_it_gets_up_from_its_back_and_stands(lost):
    morphology = WHOLE.without(*lost)
    GAIT.set_morphology(morphology)
    robot = fallen(morphology)
    assert robot.cos_tilt < -0.8
    robot.get_up.begin(GAIT, morphology)
    assert robot.run(25.0) and robot.get_up.phase is Phase.DONE
    assert robot.cos_tilt > 0.95 and robot.physics.position[2] > 0.09


def test_with_a_joint_that_somebody_holds_it_does_not_turn_over():
    at = float(STANCE[4])
    GAIT.set_morphology(None)
    robot = fallen(WHOLE.locked("LM.femur", angle=at), seed=4)
    before = robot.physics.q.copy()
    robot.get_up.begin(GAIT, WHOLE)
    assert robot.run(25.0) and robot.get_up.phase is Phase.STOPPED
    assert "femur_joint_LM" in robot.get_up.reason
    assert np.abs(robot.physics.q - before).max() < 0.2


def test_turned_over_by_hand_after_the_request_it_does_not_move():
    GAIT.set_morphology(None)
    robot = fallen(seed=5)
    robot.get_up.begin(GAIT, WHOLE)
    before = robot.physics.q.copy()
    pushes = np.random.default_rng(5)
    robot.before_tick = lambda it: it.physics.push([0.0, 0.0, 0.0, *pushes.normal(0.0, 0.5, 3)])
    assert robot.run(25.0) and robot.get_up.phase is Phase.FAILED and "rest" in robot.get_up.reason
    assert np.abs(robot.physics.q - before).max() < 0.1
