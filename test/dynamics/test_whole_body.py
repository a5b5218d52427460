"""The whole-body model against Pinocchio and against the paper's closed form."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.random_case import RandomCase
from support.random_robots import FAMILIES, leg_count_of, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.papers.closed_form import ClosedForm
from hexapod_dynamics.robot import Morphology, Robot

# What issue and papers ask for. Both sides round at 1e-16; forward dynamics loses the mass matrix's condition number.
TOLERANCE = 1e-9
ROBOTS = 54  # of every family with 4, 6 and 8 legs, two in three of them damaged


@pytest.fixture(scope="module", params=range(ROBOTS))
def case(request):
    """A random robot with random damage in a random state."""
    seed, rng = request.param, np.random.default_rng(request.param)
    family, whole = seed % len(FAMILIES), seed // (3 * len(FAMILIES)) == 0
    robot = random_robot(rng, family, leg_count_of(family, seed // len(FAMILIES)))
    return RandomCase(rng, Morphology.whole(robot) if whole else random_damage(rng, robot))


def symmetric(upper):
    return np.triu(upper) + np.triu(upper, 1).T


def test_every_quantity_is_pinocchios(case):
    model, peer, data, q = case.model, case.peer.model, case.peer.data, case.peer_q
    assert peer.nv == 6 + case.n
    M = pin.crba(peer, data, q)
    assert_close(model.mass_matrix(case.q, case.morphology), symmetric(M))
    g = pin.computeGeneralizedGravity(peer, data, q)
    assert_close(model.gravity_force(case.R, case.q, case.morphology), g)
    bias = pin.rnea(peer, data, q, case.nu, np.zeros(6 + case.n))
    assert_close(model.coriolis_matrix(case.q, case.nu, case.morphology) @ case.nu, bias - g)
    for leg, frame in case.peer.tips.items():
        J = pin.computeFrameJacobian(peer, data, q, frame, pin.LOCAL)
        assert_close(model.tip_jacobian(leg, case.q, case.morphology), J)
    acceleration = model.forward_dynamics(*case.state, case.tau, case.morphology)
    assert_close(acceleration, pin.aba(peer, data, q, case.nu, case.generalised))
    torques = model.inverse_dynamics(*case.state, case.nudot, case.morphology)
    assert_close(torques, pin.rnea(peer, data, q, case.nu, case.nudot))


def test_derivatives_are_pinocchios(case):
    model, peer, data, morphology = case.model, case.peer.model, case.peer.data, case.morphology
    by_q, by_nu, mass = model.inverse_dynamics_derivatives(*case.state, case.nudot, morphology)
    pin.computeRNEADerivatives(peer, data, case.peer_q, case.nu, case.nudot)
    assert_close(by_q, data.dtau_dq)
    assert_close(by_nu, data.dtau_dv)
    assert_close(mass, symmetric(data.M))
    by_q, by_nu, by_tau = model.forward_dynamics_derivatives(*case.state, case.tau, morphology)
    pin.computeABADerivatives(peer, data, case.peer_q, case.nu, case.generalised)
    assert_close(by_q, data.ddq_dq)
    assert_close(by_nu, data.ddq_dv)
    assert_close(by_tau, symmetric(data.Minv)[:, 6:] * case.driven)


def test_tip_forces_act_like_the_jacobian_says(case):
    model, morphology, state = case.model, case.morphology, case.state
    forces = {leg: case.rng.normal(size=3) for leg in case.peer.tips}
    rows = np.zeros(6 + case.n)
    for leg, frame in case.peer.tips.items():
        J = pin.computeFrameJacobian(case.peer.model, case.peer.data, case.peer_q, frame, pin.LOCAL_WORLD_ALIGNED)
        rows += J[:3].T @ forces[leg]
    free = model.inverse_dynamics(*state, case.nudot, morphology)
    assert_close(model.inverse_dynamics(*state, case.nudot, morphology, forces), free - rows)
    acceleration = model.forward_dynamics(*state, case.tau, morphology, forces)
    torques = model.inverse_dynamics(*state, acceleration, morphology, forces)
    np.testing.assert_allclose(torques, case.generalised, rtol=0, atol=TOLERANCE * max(1.0, np.abs(rows).max()))
    # and no force is left over for the next call
    expected = pin.aba(case.peer.model, case.peer.data, case.peer_q, case.nu, case.generalised)
    assert_close(model.forward_dynamics(*state, case.tau, morphology), expected)


def test_the_fast_path_is_the_closed_form(case):
    closed, q = ClosedForm(case.morphology), np.nan_to_num(case.q)
    model, morphology = case.model, case.morphology
    assert_close(model.mass_matrix(q, morphology), closed.mass_matrix(q), 1e-12)
    assert_close(model.coriolis_matrix(q, case.nu, morphology), closed.coriolis_matrix(q, case.nu), 1e-12)
    g = closed.gravity_force(case.R, q)
    assert_close(model.gravity_force(case.R, q, morphology), g, 1e-12)
    state = case.R, q, case.nu
    expected = closed.forward_dynamics(*state, case.generalised[6:])
    assert_close(model.forward_dynamics(*state, case.tau, morphology), expected, 1e-10)
    for leg in case.peer.tips:
        assert_close(model.tip_jacobian(leg, q, morphology), closed.tip_jacobian(leg, q), 1e-12)


def test_mdot_minus_2c_is_skew(case):
    """Mdot by Lemma 3, which papers/test_closed_form.py holds against finite differences in extended precision."""
    closed, q = ClosedForm(case.morphology), np.nan_to_num(case.q)
    rates = closed.expand(case.nu)[6:]
    Mdot = sum(closed.mass_matrix_derivative(q, joint) * rate for joint, rate in enumerate(rates))
    S = Mdot - 2 * case.model.coriolis_matrix(q, case.nu, case.morphology)
    assert np.max(np.abs(S + S.T)) <= 1e-12 * np.max(np.abs(S))


# ---- use -----------------------------------------------------------------------------------------------------------

JETHEXA = WholeBodyModel(Robot.jethexa())
WHOLE = Morphology.whole(JETHEXA.robot)


def test_joint_names_are_those_that_exist_and_move():
    hurt = WHOLE.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4)
    names = JETHEXA.joint_names(hurt)
    assert len(names) == 12
    assert names[:4] == ["coxa_joint_LF", "femur_joint_LF", "tibia_joint_LF", "coxa_joint_LM"]
    assert "tibia_joint_RF" not in names
    assert JETHEXA.joint_names(WHOLE) == list(JETHEXA.robot.joint_names)


def test_changing_the_morphology_back_and_forth_leaves_nothing_behind():
    rng = np.random.default_rng(7)
    q, nu, tau = rng.normal(size=18), rng.normal(size=24), rng.normal(size=18)
    first = JETHEXA.forward_dynamics(np.eye(3), q, nu, tau, WHOLE)
    for seed in range(20):
        morphology = random_damage(np.random.default_rng(seed), JETHEXA.robot)
        n = len(JETHEXA.joint_names(morphology))
        JETHEXA.forward_dynamics(np.eye(3), q, rng.normal(size=6 + n), rng.normal(size=n), morphology)
    np.testing.assert_array_equal(JETHEXA.forward_dynamics(np.eye(3), q, nu, tau, WHOLE), first)


def test_threads_share_a_model_each_with_its_own_morphology():
    """Eight threads, nine morphologies: each result is the one that the morphology has when nobody else calls."""
    rng = np.random.default_rng(9)
    R, q = rotation(rng), rng.normal(size=18)
    morphologies = [WHOLE, *(random_damage(np.random.default_rng(seed), JETHEXA.robot) for seed in range(8))]
    cases = []
    for morphology in morphologies:
        n = len(JETHEXA.joint_names(morphology))
        state = R, q, rng.normal(size=6 + n), rng.normal(size=n)
        leg = next(name for name in JETHEXA.robot.leg_names if morphology.has_leg(name))
        forces = {leg: rng.normal(size=3)}
        alone = WholeBodyModel(JETHEXA.robot)
        results = alone.forward_dynamics(*state, morphology, forces), alone.mass_matrix(q, morphology)
        cases.append((state, morphology, forces, results))
    shared, wrong = WholeBodyModel(JETHEXA.robot), []

    def work(seed):
        for index in np.random.default_rng(seed).integers(len(cases), size=400):
            state, morphology, forces, (acceleration, mass) = cases[index]
            if not np.array_equal(shared.forward_dynamics(*state, morphology, forces), acceleration):
                wrong.append("forward_dynamics")
            if not np.array_equal(shared.mass_matrix(q, morphology), mass):
                wrong.append("mass_matrix")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_model_work_on_memory_of_their_own(twin):
    q = np.linspace(-1, 1, 18)
    other = twin(JETHEXA)
    np.testing.assert_array_equal(other.mass_matrix(q, WHOLE), JETHEXA.mass_matrix(q, WHOLE))
    hurt = WHOLE.without("RM")
    before = JETHEXA.mass_matrix(q, WHOLE)
    other.mass_matrix(q + 1.0, hurt)
    np.testing.assert_array_equal(JETHEXA.mass_matrix(q, WHOLE), before)
