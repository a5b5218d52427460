"""Legs that are held up with what is left of them are out of the way of the legs that walk, on MuJoCo."""

import mujoco
import numpy as np
import pytest
from support.guarded_walk import MujocoWalk
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.legs import prepare_legs

STARTING = 3.0  # [s] until legs that are lost are held up


def touching(physics):
    """Names of the pairs of links that touch each other now."""
    model, data = physics.model, physics.data
    bodies = ([model.geom_bodyid[geom] for geom in (one.geom1, one.geom2)] for one in data.contact[: data.ncon])
    name = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) for body in range(model.nbody)]
    return {tuple(sorted(name[body] for body in pair)) for pair in bodies if 0 not in pair}


@pytest.mark.parametrize("lost", [("RR", "RM"), ("LM", "LR"), ("RM", "RF"), ("LM", "RF"), ("LF", "LM")], ids="+".join)
def test_legs_without_tibias_are_not_touched_by_those_that_walk(lost):
    """Straight ahead of their hips they are hit in each cycle with half of the pairs of lost legs."""
    morphology = WHOLE
    for leg in lost:
        morphology = morphology.broken(f"{leg}.tibia", 0.05)
    gait = AdaptiveGait().bind(ROBOT)
    gait.set_morphology(morphology)
    walk = MujocoWalk(gait, damage=morphology)
    gait.walk()

    def is_free():
        if walk.physics.time > STARTING:
            assert touching(walk.physics) == set(), f"at {walk.physics.time:.2f} s"

    walk.run(8.0, is_free, sense=False)
    assert walk.physics.position[0] > 0.2


def rest_angles(morphology, leg):
    """Joint angles at which a lost leg is held up."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.set_morphology(morphology)
    return gait.data.legs["rest"][ROBOT.leg_names.index(leg)]


def test_a_single_lost_leg_stays_straight_ahead_of_its_hip():
    for leg in ROBOT.leg_names:
        assert rest_angles(WHOLE.broken(f"{leg}.tibia", 0.05), leg)[0] == 0.0


def test_a_coxa_that_is_stuck_or_limp_is_not_asked_to_turn():
    whole = WHOLE.broken("RR.tibia", 0.05)
    assert rest_angles(whole.broken("RM.tibia", 0.05), "RM")[0] != 0.0
    assert rest_angles(whole.broken("RM.tibia", 0.05).locked("RM.coxa", 0.1), "RM")[0] == pytest.approx(0.1)
    assert rest_angles(whole.broken("RM.tibia", 0.05).limp("RM.coxa"), "RM")[0] == 0.0


def test_only_the_coxa_turns():
    morphology = WHOLE.broken("RR.tibia", 0.05).broken("RM.tibia", 0.05)
    row = ROBOT.leg_names.index("RM")
    before = prepare_legs(ROBOT, morphology)[0]["rest"][row, 1:]
    assert np.array_equal(rest_angles(morphology, "RM")[1:], before)
