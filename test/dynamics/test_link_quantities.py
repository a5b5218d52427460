"""Links, points, momentum, energy and held feet against Pinocchio; CasADi functions against the compiled model."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.random_case import RandomCase

from hexapod_dynamics.dynamics import WholeBodyModel

MODEL = WholeBodyModel(ROBOT)


class Case(RandomCase):
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
def case(request):
    return Case.of_seed(request.param)


def test_poses_points_and_their_rates_are_pinocchios(case):
    model, peer, data = case.model, case.peer.model, case.peer.data
    poses = case.model.link_poses(case.R, case.p, case.q, case.morphology)
    assert len(poses) == case.morphology.existing_mask.sum()
    for leg in case.legs:
        link, tip, frame = case.tip(leg)
        turned, start = poses[link]
        assert_close(turned, data.oMf[frame].rotation)
        assert_close(start + turned @ tip, data.oMf[frame].translation)
        J = pin.computeFrameJacobian(peer, data, case.peer_q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        ours = model.point_jacobian(link, tip, case.q, case.morphology)
        assert_close(ours, case.R.T @ J)
        bias = model.point_acceleration_bias(link, tip, case.q, case.nu, case.morphology)
        pin.forwardKinematics(peer, data, case.peer_q, case.nu, np.zeros(6 + case.n))
        drift = pin.getFrameClassicalAcceleration(peer, data, frame, pin.LOCAL_WORLD_ALIGNED).linear
        assert_close(bias + np.cross(case.nu[3:6], ours @ case.nu), case.R.T @ drift)


def test_mass_momentum_and_energy_are_pinocchios(case):
    model, peer, data, q = case.model, case.peer.model, case.peer.data, case.peer_q
    pin.computeCentroidalMomentum(peer, data, q, case.nu)
    assert model.total_mass(case.morphology) == pytest.approx(pin.computeTotalMass(peer), rel=1e-12)
    assert_close(model.center_of_mass(case.R, case.p, case.q, case.morphology), pin.centerOfMass(peer, data, q))
    assert_close(model.centroidal_momentum(case.R, case.q, case.nu, case.morphology), np.array(data.hg))
    rotors = 0.5 * peer.armature @ case.nu**2  # which Pinocchio leaves out here, though not in its mass matrix
    kinetic = pin.computeKineticEnergy(peer, data, q, case.nu) + rotors
    assert model.kinetic_energy(case.q, case.nu, case.morphology) == pytest.approx(kinetic, rel=1e-9)
    potential = pin.computePotentialEnergy(peer, data, q)
    assert model.potential_energy(case.R, case.p, case.q, case.morphology) == pytest.approx(potential, rel=1e-9)


def test_held_feet_are_pinocchios(case):
    model, peer, morphology = case.model, case.peer.model, case.morphology
    stance = [leg.name for leg in case.legs][:3]
    acceleration, forces = model.constrained_forward_dynamics(case.R, case.q, case.nu, case.tau, stance, morphology)
    # the feet's accelerations, by Pinocchio, are zero, and the forces explain the motion
    pin.forwardKinematics(peer, case.peer.data, case.peer_q, case.nu, acceleration)
    pin.updateFramePlacements(peer, case.peer.data)
    for name in stance:
        linear = pin.getFrameClassicalAcceleration(
            peer, case.peer.data, case.peer.tips[name], pin.LOCAL_WORLD_ALIGNED
        ).linear
        assert np.abs(linear).max() < 1e-7 * max(1.0, np.abs(acceleration).max())
    again = model.forward_dynamics(case.R, case.q, case.nu, case.tau, morphology, forces)
    assert_close(again, acceleration, 1e-7)


def test_feet_held_more_than_once_over_get_the_smallest_forces(monkeypatch):
    """A leg whose joints are locked is one body with the base: two of them hold it six times for five freedoms."""
    case = Case.of_seed(0)
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
    case = Case.of_seed(seed)
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
