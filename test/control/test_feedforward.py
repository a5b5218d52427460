"""Feed-forward torques: inverse dynamics of the model with the feet's forces, whatever is missing."""

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.se3 import rotation_from_vector
from hexapod_dynamics.simulation import Ground, Predictor, Simulator

DAMAGES = {
    "whole": WHOLE,
    "a leg": WHOLE.without("RM"),
    "two legs": WHOLE.without("RM", "LM"),
    "two legs to the coxa": WHOLE.without("LM.femur", "RR.femur"),
    "locked": WHOLE.locked("RF.tibia", 0.1),
    "short": WHOLE.broken("LF.tibia", 0.8),
}


@pytest.fixture(scope="module")
def forward():
    return Feedforward(ROBOT)


@pytest.mark.parametrize("morphology", DAMAGES.values(), ids=DAMAGES)
def test_torques_equal_the_models_inverse_dynamics_with_the_feet_pushing(forward, morphology):
    rng, model = np.random.default_rng(5), WholeBodyModel(ROBOT)
    forward.set_morphology(morphology)
    moving = morphology.moving_mask
    for _ in range(5):
        q = np.where(moving, rng.normal(size=18) * 0.2, morphology.locked_positions)
        rates, accelerations = rng.normal(size=18) * moving, rng.normal(size=18) * 5 * moving
        rotation, twist = rotation_from_vector(rng.normal(size=3) * 0.1), rng.normal(size=6) * 0.1
        torques = forward.solve(rotation, 0.1, twist, q, rates, accelerations, q)
        forces = {
            leg.name: rotation @ f
            for leg, f in zip(ROBOT.legs, forward.forces, strict=True)
            if morphology.has_leg(leg.name)
        }
        assert any(np.linalg.norm(f) > 0.1 for f in forces.values())
        expected = model.inverse_dynamics(
            rotation, q, np.r_[twist, rates[moving]], np.r_[np.zeros(6), accelerations[moving]], morphology, forces
        )
        np.testing.assert_allclose(torques[moving], expected[6:], atol=1e-10)
        assert (torques[~moving] == 0.0).all()


def test_a_standing_robot_is_carried(forward):
    """What the feet push is the weight, and the wrench left over on the body is nil."""
    forward.set_morphology(WHOLE)
    q, zero = TripodGait().bind(ROBOT).position, np.zeros(18)
    forward.solve(np.eye(3), 0.1199, np.zeros(6), q, zero, zero, q)
    weight = ROBOT.gravity * (ROBOT.body.mass + sum(link.mass for leg in ROBOT.legs for link in leg.links))
    # The regularisation leaves 1e-4 / 6 of it uncarried.
    np.testing.assert_allclose(forward.forces.sum(axis=0), [0, 0, weight], rtol=1e-4, atol=1e-2)


def test_servos_given_the_torques_stand_where_they_are_told(forward):
    """With the offset tau / stiffness the joints sag a tenth of what they do without."""
    forward.set_morphology(WHOLE)
    gait, zero = TripodGait().bind(ROBOT), np.zeros(18)
    sags = []
    for share in (0.0, 1.0):
        physics = Simulator(ROBOT, ground=Ground.viscous())  # feet that stick would carry a part of the sag
        physics.reset(joints=gait.position)
        for _ in range(100):
            torques = forward.solve(
                physics.rotation, physics.position[2], physics.nu[:6], gait.position, zero, zero, physics.q
            )
            physics.command(gait.position + share * torques / ROBOT.servo.stiffness, 0.02)
            physics.step(20)
        sags.append(np.abs(physics.q - gait.position).max())
    assert sags[0] > 0.005
    assert sags[1] < 0.1 * sags[0]


def test_nobody_on_the_ground_needs_no_more_than_the_legs_own_weight(forward):
    forward.set_morphology(WHOLE)
    q, zero = TripodGait().bind(ROBOT).position, np.zeros(18)
    torques = forward.solve(np.eye(3), 0.5, np.zeros(6), q, zero, zero, q)
    assert not forward.forces.any()
    assert 0.0 < np.abs(torques).max() < 0.2  # 0.2 kg on at most 0.1 m


def test_torques_pass_from_one_tripod_to_the_other_without_a_leap(forward):
    forward.set_morphology(WHOLE)
    gait, zero, before = TripodGait().bind(ROBOT), np.zeros(18), None
    gait.reset(walking=True)
    for _ in range(260):  # a whole cycle, 5 ms apart
        q, rates = (a.copy() for a in gait.step(0.005))
        torques = forward.solve(np.eye(3), 0.12, np.zeros(6), q, rates, zero, q).copy()
        if before is not None:
            assert np.abs(torques - before).max() < 0.12
        before = torques


def test_on_a_models_workspace_its_morphology_counts_and_its_prediction_is_not_disturbed():
    predictors = [Predictor(ROBOT) for _ in range(2)]
    shared, own = Feedforward(ROBOT, model=predictors[0]), Feedforward(ROBOT)
    gait, zero = TripodGait().bind(ROBOT), np.zeros(18)
    standing = gait.position.copy()
    for predictor in predictors:
        predictor.set_state(np.array([0.0, 0.0, 0.12]), np.eye(3), standing, np.zeros(24))
    for morphology in (WHOLE, WHOLE.without("RM").locked("RF.tibia", -0.3), WHOLE.limp("LR.femur"), WHOLE):
        own.set_morphology(morphology)
        for predictor in predictors:
            predictor.set_morphology(morphology)
        for _ in range(5):
            for predictor in predictors:
                predictor.advance(0.01, standing)
            q, nu = predictors[0].q, predictors[0].nu
            arguments = (predictors[0].rotation, predictors[0].position[2], nu[:6], standing, zero, zero, q)
            np.testing.assert_array_equal(shared.solve(*arguments), own.solve(*arguments))
            np.testing.assert_array_equal(predictors[0].q, predictors[1].q)
            np.testing.assert_array_equal(predictors[0].nu, predictors[1].nu)
