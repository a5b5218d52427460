"""The whole-body model against Pinocchio and against the paper's closed form; links, points, momentum, energy, held
feet; CasADi functions and regressors against the compiled model, whole and damaged.
"""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import FAMILIES, leg_count_of, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.regressors import PARAMETERS, body_to_parameters, parameters_to_body
from hexapod_dynamics.papers.closed_form import ClosedForm
from hexapod_dynamics.robot import Morphology, Robot

# What the papers ask for. Both sides round at 1e-16; forward dynamics loses the mass matrix's condition number.
TOLERANCE = 1e-9
MODEL = WholeBodyModel(ROBOT)
ROBOTS = 54  # of every family with 4, 6 and 8 legs, two in three of them damaged


class RandomCase:
    """Joints that do not move have no position (NaN): it must be ignored."""

    @classmethod
    def of_seed(cls, seed, damaged=None):
        """Seeds 0, 1: the JetHexa, whole and damaged (`damaged`, or at random); then damaged robots of every family."""
        rng = np.random.default_rng(seed)
        robot = ROBOT if seed < 2 else random_robot(rng, seed % len(FAMILIES), 4)
        hurt = damaged if seed == 1 and damaged is not None else None
        return cls(rng, WHOLE if seed == 0 else hurt or random_damage(rng, robot))

    def __init__(self, rng, morphology):
        robot = morphology.robot
        self.rng, self.robot, self.morphology, self.model = rng, robot, morphology, WholeBodyModel(robot)
        self.n = len(self.model.joint_names(morphology))
        self.R, self.p, self.q = rotation(rng), rng.normal(size=3), rng.normal(size=robot.joint_count)
        self.q[~morphology.moving_mask] = np.nan
        self.nu, self.nudot = rng.normal(size=(2, 6 + self.n))
        self.tau = rng.normal(size=self.n)
        self.driven = morphology.driven_mask[morphology.moving_mask]
        # a limp joint's torque is zero, whatever tau says
        self.generalised = np.concatenate([np.zeros(6), np.where(self.driven, self.tau, 0.0)])
        self.state = self.R, self.q, self.nu
        self.peer = PinocchioRobot(morphology)
        self.peer_q = self.peer.configuration(self.R, self.q)
        self.rotors = np.array([joint.rotor_inertia for joint in robot.joints])[morphology.moving_mask]
        self.phi = self.model.inertial_parameters(morphology)


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
    """Mdot by Lemma 3, which papers/test_inverse_dynamics.py holds against finite differences."""
    closed, q = ClosedForm(case.morphology), np.nan_to_num(case.q)
    rates = closed.expand(case.nu)[6:]
    Mdot = sum(closed.mass_matrix_derivative(q, joint) * rate for joint, rate in enumerate(rates))
    S = Mdot - 2 * case.model.coriolis_matrix(q, case.nu, case.morphology)
    assert np.max(np.abs(S + S.T)) <= 1e-12 * np.max(np.abs(S))


# ---- links, points, momentum, energy, held feet, CasADi --------------------------------------------------------------


class PlacedCase(RandomCase):
    """With Pinocchio's frames placed."""

    def __init__(self, rng, morphology):
        super().__init__(rng, morphology)
        self.q = np.nan_to_num(self.q)
        self.peer_q[:3] = self.p
        self.legs = [leg for leg in self.robot.legs if self.morphology.has_leg(leg.name)]
        pin.forwardKinematics(self.peer.model, self.peer.data, self.peer_q, self.nu, np.zeros(6 + self.n))
        pin.updateFramePlacements(self.peer.model, self.peer.data)

    def tip(self, leg):
        """Name of the leg's last link, its tip in that link's axes, and Pinocchio's frame of it."""
        link = self.morphology.links(leg.name)[-1]
        return f"{leg.name}.{link.name}", np.array([link.length, 0.0, 0.0]), self.peer.tips[leg.name]


@pytest.fixture(scope="module", params=range(8))
def placed(request):
    return PlacedCase.of_seed(request.param)


def test_poses_points_and_their_rates_are_pinocchios(placed):
    model, peer, data = placed.model, placed.peer.model, placed.peer.data
    poses = placed.model.link_poses(placed.R, placed.p, placed.q, placed.morphology)
    assert len(poses) == placed.morphology.existing_mask.sum()
    for leg in placed.legs:
        link, tip, frame = placed.tip(leg)
        turned, start = poses[link]
        assert_close(turned, data.oMf[frame].rotation)
        assert_close(start + turned @ tip, data.oMf[frame].translation)
        J = pin.computeFrameJacobian(peer, data, placed.peer_q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        ours = model.point_jacobian(link, tip, placed.q, placed.morphology)
        assert_close(ours, placed.R.T @ J)
        bias = model.point_acceleration_bias(link, tip, placed.q, placed.nu, placed.morphology)
        pin.forwardKinematics(peer, data, placed.peer_q, placed.nu, np.zeros(6 + placed.n))
        drift = pin.getFrameClassicalAcceleration(peer, data, frame, pin.LOCAL_WORLD_ALIGNED).linear
        assert_close(bias + np.cross(placed.nu[3:6], ours @ placed.nu), placed.R.T @ drift)


def test_mass_momentum_and_energy_are_pinocchios(placed):
    model, peer, data, q = placed.model, placed.peer.model, placed.peer.data, placed.peer_q
    pin.computeCentroidalMomentum(peer, data, q, placed.nu)
    assert model.total_mass(placed.morphology) == pytest.approx(pin.computeTotalMass(peer), rel=1e-12)
    assert_close(model.center_of_mass(placed.R, placed.p, placed.q, placed.morphology), pin.centerOfMass(peer, data, q))
    assert_close(model.centroidal_momentum(placed.R, placed.q, placed.nu, placed.morphology), np.array(data.hg))
    rotors = 0.5 * peer.armature @ placed.nu**2  # which Pinocchio leaves out here, though not in its mass matrix
    kinetic = pin.computeKineticEnergy(peer, data, q, placed.nu) + rotors
    assert model.kinetic_energy(placed.q, placed.nu, placed.morphology) == pytest.approx(kinetic, rel=1e-9)
    potential = pin.computePotentialEnergy(peer, data, q)
    assert model.potential_energy(placed.R, placed.p, placed.q, placed.morphology) == pytest.approx(potential, rel=1e-9)


def test_held_feet_are_pinocchios(placed):
    model, peer, morphology = placed.model, placed.peer.model, placed.morphology
    stance, state = [leg.name for leg in placed.legs][:3], (placed.R, placed.q, placed.nu)
    acceleration, forces = model.constrained_forward_dynamics(
        placed.R, placed.q, placed.nu, placed.tau, stance, morphology
    )
    # the feet's accelerations, by Pinocchio, are zero, and the forces explain the motion
    pin.forwardKinematics(peer, placed.peer.data, placed.peer_q, placed.nu, acceleration)
    pin.updateFramePlacements(peer, placed.peer.data)
    for name in stance:
        linear = pin.getFrameClassicalAcceleration(
            peer, placed.peer.data, placed.peer.tips[name], pin.LOCAL_WORLD_ALIGNED
        ).linear
        assert np.abs(linear).max() < 1e-7 * max(1.0, np.abs(acceleration).max())
    again = model.forward_dynamics(*state, placed.tau, morphology, forces)
    assert_close(again, acceleration, 1e-7)


def test_feet_held_more_than_once_over_get_the_smallest_forces(monkeypatch):
    """A leg whose joints are locked is one body with the base: two of them hold it six times for five freedoms."""
    case = PlacedCase.of_seed(0)
    names = [f"{leg}.{link}" for leg in ("LF", "RR") for link in ("coxa", "femur", "tibia")]
    stiff = WHOLE
    for name in names:
        stiff = stiff.locked(name, 0.1)
    n = int(stiff.moving_mask.sum())
    state = case.R, case.q, case.nu[: 6 + n], case.tau[:n]
    assert MODEL._hold(*state, ["LF", "RR"], stiff) is None
    acceleration, forces = MODEL.constrained_forward_dynamics(*state, ["LF", "RR"], stiff)
    assert_close(MODEL.forward_dynamics(*state, stiff, forces), acceleration, 1e-7)
    along = MODEL.link_poses(case.R, case.p, case.q, stiff)
    end = np.array([ROBOT.leg("LF").links[-1].length, 0.0, 0.0])
    tip = {leg: along[f"{leg}.tibia"][1] + along[f"{leg}.tibia"][0] @ end for leg in forces}
    line = tip["LF"] - tip["RR"]
    stretch = (forces["LF"] - forces["RR"]) @ line / np.linalg.norm(line)
    assert abs(stretch) < 1e-7 * max(np.linalg.norm(force) for force in forces.values())  # no force that does nothing


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_casadi_functions_are_the_compiled_model(seed):
    case = PlacedCase.of_seed(seed)
    q = case.q
    forward = case.model.casadi_function("forward_dynamics", case.morphology)
    expected = case.model.forward_dynamics(case.R, q, case.nu, case.tau, case.morphology)
    assert_close(np.array(forward(case.R, q, case.nu, case.tau)).ravel(), expected, 1e-11)
    inverse = case.model.casadi_function("inverse_dynamics", case.morphology)
    expected = case.model.inverse_dynamics(case.R, q, case.nu, case.nu, case.morphology)
    assert_close(np.array(inverse(case.R, q, case.nu, case.nu)).ravel(), expected, 1e-12)
    tips = np.array(case.model.casadi_function("tip_positions", case.morphology)(case.R, case.p, q))
    assert_close(tips.T, [case.peer.data.oMf[case.tip(leg)[2]].translation for leg in case.legs], 1e-12)
    opti = ca.Opti()
    torque = opti.variable(case.n)
    opti.minimize(ca.sumsqr(forward(case.R, q, case.nu, torque)[6:]) + 1e-6 * ca.sumsqr(torque))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0})
    assert np.isfinite(opti.solve().value(torque)).all()


# ---- regressors -----------------------------------------------------------------------------------------------------

BROKEN = WHOLE.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4).broken("LF.tibia", remaining=0.5)
EXACT = 1e-10


@pytest.fixture(scope="module", params=(0, 1, 2, 3, 5))
def known(request):
    return RandomCase.of_seed(request.param, BROKEN)


def test_the_regressor_times_the_parameters_is_inverse_dynamics(known):
    """The parameters are random, and the regressor does not depend on them: so each of its columns is right."""
    Y = known.model.inverse_dynamics_regressor(known.R, known.q, known.nu, known.nudot, known.morphology)
    torques = known.model.inverse_dynamics(known.R, known.q, known.nu, known.nudot, known.morphology)
    torques[6:] -= known.rotors * known.nudot[6:]
    assert Y.shape == (6 + len(known.rotors), 10 * (1 + int(known.morphology.existing_mask.sum())))
    assert_close(Y @ known.phi, torques, EXACT)


def test_momentum_and_energy_are_linear_in_the_parameters(known):
    momentum = known.model.mass_matrix(known.q, known.morphology) @ known.nu
    momentum[6:] -= known.rotors * known.nu[6:]
    assert_close(known.model.momentum_regressor(known.q, known.nu, known.morphology) @ known.phi, momentum, EXACT)
    kinetic, potential = known.model.energy_regressor(known.R, known.p, known.q, known.nu, known.morphology)
    energy = known.model.kinetic_energy(known.q, known.nu, known.morphology) - 0.5 * known.rotors @ known.nu[6:] ** 2
    assert kinetic @ known.phi == pytest.approx(energy, rel=EXACT)
    height = known.model.potential_energy(known.R, known.p, known.q, known.morphology)
    assert potential @ known.phi == pytest.approx(height, rel=1e-9)


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


def test_base_parameters_replace_the_standard_ones(known):
    base = known.model.base_parameters(known.morphology)
    Y = known.model.inverse_dynamics_regressor(known.R, known.q, known.nu, known.nudot, known.morphology)
    assert_close(Y[:, base.columns] @ (base.combination @ known.phi), Y @ known.phi, 1e-8)
    assert len(base.names) == len(base.columns) == len(base.combination)


def test_a_free_robot_of_revolute_joints_shows_seven_of_each_link_and_all_of_its_body():
    assert len(MODEL.base_parameters().names) == 10 + 7 * 18
    # a locked link adds nothing to the ten of the link that carries it, a missing one none
    assert len(MODEL.base_parameters(BROKEN).names) == 10 + 7 * int(BROKEN.moving_mask.sum())
    names = " ".join(MODEL.base_parameters().names)
    assert "base_link.m + LF.coxa.m" in names  # what turns about a vertical axis adds its mass to the body's
    torques = MODEL.base_parameters(rows="joints")
    assert len(torques.names) < 10 + 7 * 18
    octopod = Robot.load("config/octopod.yaml")
    locked = {f"locked.{leg.name}.{link}": True for leg in octopod.legs for link in leg.link_names}
    rigid = Morphology.whole(octopod).updated(locked, dict.fromkeys(octopod.joint_names, 0.1))
    assert len(WholeBodyModel(octopod).base_parameters(rigid).names) == 10


def test_body_and_parameters_are_inverse():
    link = ROBOT.legs[0].links[2]
    mass, com, inertia = parameters_to_body(body_to_parameters(link.mass, link.com, link.inertia))
    assert mass == link.mass
    assert_close(com, link.com, EXACT)
    assert_close(inertia, link.inertia, 1e-9)


# ---- use -----------------------------------------------------------------------------------------------------------


def test_joint_names_are_those_that_exist_and_move():
    hurt = WHOLE.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4)
    names = MODEL.joint_names(hurt)
    assert len(names) == 12
    assert names[:4] == ["coxa_joint_LF", "femur_joint_LF", "tibia_joint_LF", "coxa_joint_LM"]
    assert "tibia_joint_RF" not in names
    assert MODEL.joint_names(WHOLE) == list(ROBOT.joint_names)


def test_threads_share_a_model_each_with_its_own_morphology():
    """Eight threads, nine morphologies: each result is the one that the morphology has when nobody else calls."""
    rng = np.random.default_rng(9)
    R, q = rotation(rng), rng.normal(size=18)
    morphologies = [WHOLE, *(random_damage(np.random.default_rng(seed), ROBOT) for seed in range(8))]
    cases = []
    for morphology in morphologies:
        n = len(MODEL.joint_names(morphology))
        state = R, q, rng.normal(size=6 + n), rng.normal(size=n)
        leg = next(name for name in ROBOT.leg_names if morphology.has_leg(name))
        forces = {leg: rng.normal(size=3)}
        alone = WholeBodyModel(ROBOT)
        results = alone.forward_dynamics(*state, morphology, forces), alone.mass_matrix(q, morphology)
        cases.append((state, morphology, forces, results))
    shared, wrong = WholeBodyModel(ROBOT), []

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
    other = twin(MODEL)
    np.testing.assert_array_equal(other.mass_matrix(q, WHOLE), MODEL.mass_matrix(q, WHOLE))
    hurt = WHOLE.without("RM")
    before = MODEL.mass_matrix(q, WHOLE)
    other.mass_matrix(q + 1.0, hurt)
    np.testing.assert_array_equal(MODEL.mass_matrix(q, WHOLE), before)
