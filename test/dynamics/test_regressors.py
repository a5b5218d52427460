"""Regressors against inverse dynamics, momentum and energy of the compiled model, whole and damaged."""

import numpy as np
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.random_case import RandomCase
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.regressors import PARAMETERS, body_to_parameters, parameters_to_body

MODEL = WholeBodyModel(ROBOT)
BROKEN = WHOLE.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4).broken("LF.tibia", remaining=0.5)
EXACT = 1e-10


class Case(RandomCase):
    """With the inertial parameters, and the rotors, which are none of them."""

    def __init__(self, rng, morphology):
        super().__init__(rng, morphology)
        self.rotors = np.array([joint.rotor_inertia for joint in self.robot.joints])[morphology.moving_mask]

    @property
    def phi(self):
        return self.model.inertial_parameters(self.morphology)


@pytest.fixture(scope="module", params=(0, 1, 2, 3, 5))
def case(request):
    return Case.of_seed(request.param, BROKEN)


def test_the_regressor_times_the_parameters_is_inverse_dynamics(case):
    """The parameters are random, and the regressor does not depend on them: so each of its columns is right."""
    Y = case.model.inverse_dynamics_regressor(case.R, case.q, case.nu, case.nudot, case.morphology)
    torques = case.model.inverse_dynamics(case.R, case.q, case.nu, case.nudot, case.morphology)
    torques[6:] -= case.rotors * case.nudot[6:]
    assert Y.shape == (6 + len(case.rotors), 10 * (1 + int(case.morphology.existing_mask.sum())))
    assert_close(Y @ case.phi, torques, EXACT)


def test_momentum_and_energy_are_linear_in_the_parameters(case):
    momentum = case.model.mass_matrix(case.q, case.morphology) @ case.nu
    momentum[6:] -= case.rotors * case.nu[6:]
    assert_close(case.model.momentum_regressor(case.q, case.nu, case.morphology) @ case.phi, momentum, EXACT)
    kinetic, potential = case.model.energy_regressor(case.R, case.p, case.q, case.nu, case.morphology)
    energy = case.model.kinetic_energy(case.q, case.nu, case.morphology) - 0.5 * case.rotors @ case.nu[6:] ** 2
    assert kinetic @ case.phi == pytest.approx(energy, rel=EXACT)
    height = case.model.potential_energy(case.R, case.p, case.q, case.morphology)
    assert potential @ case.phi == pytest.approx(height, rel=1e-9)


def test_samples_along_a_leading_axis_are_those_one_by_one():
    rng, T = np.random.default_rng(3), 4
    R, q = np.array([rotation(rng) for _ in range(T)]), rng.normal(size=(T, 18))
    nu, nudot = rng.normal(size=(2, T, 24))
    together = MODEL.inverse_dynamics_regressor(R, q, nu, nudot)
    for k in range(T):
        assert_close(together[k], MODEL.inverse_dynamics_regressor(R[k], q[k], nu[k], nudot[k]), EXACT)
    assert MODEL.momentum_regressor(q, nu).shape == (T, 24, 190)
    assert MODEL.energy_regressor(R, np.zeros((T, 3)), q, nu)[1].shape == (T, 190)


def test_names_and_parameters_are_of_what_is_there():
    links = MODEL.regressor_links(BROKEN)
    assert links[0] == "base_link" and "RM.coxa" not in links and "LM.coxa" in links and "LM.femur" not in links
    names = MODEL.regressor_parameters(BROKEN)
    assert names[:10] == tuple(f"base_link.{name}" for name in PARAMETERS)
    phi = dict(zip(names, MODEL.inertial_parameters(BROKEN), strict=True))
    assert phi["LF.tibia.m"] == pytest.approx(0.055) and phi["LM.coxa.m"] == pytest.approx(0.02)
    assert phi["LF.tibia.mx"] == pytest.approx(0.055 * 0.123 / 4)  # a stump's centre


def test_base_parameters_replace_the_standard_ones(case):
    base = case.model.base_parameters(case.morphology)
    Y = case.model.inverse_dynamics_regressor(case.R, case.q, case.nu, case.nudot, case.morphology)
    assert_close(Y[:, base.columns] @ (base.combination @ case.phi), Y @ case.phi, 1e-8)
    assert len(base.names) == len(base.columns) == len(base.combination)


def test_a_free_robot_of_revolute_joints_shows_seven_of_each_link_and_all_of_its_body():
    assert len(MODEL.base_parameters().names) == 10 + 7 * 18
    # a locked link adds nothing to the ten of the link that carries it, a missing one none
    assert len(MODEL.base_parameters(BROKEN).names) == 10 + 7 * int(BROKEN.moving_mask.sum())
    names = " ".join(MODEL.base_parameters().names)
    assert "base_link.m + LF.coxa.m" in names  # what turns about a vertical axis adds its mass to the body's
    torques = MODEL.base_parameters(rows="joints")
    assert len(torques.names) < 10 + 7 * 18


def test_body_and_parameters_are_inverse():
    link = ROBOT.legs[0].links[2]
    mass, com, inertia = parameters_to_body(body_to_parameters(link.mass, link.com, link.inertia))
    assert mass == link.mass
    assert_close(com, link.com, EXACT)
    assert_close(inertia, link.inertia, 1e-9)
