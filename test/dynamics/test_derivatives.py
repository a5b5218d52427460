"""Derivatives of inverse and forward dynamics, against Pinocchio and against differences."""

import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import FAMILIES, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
MODEL = WholeBodyModel(ROBOT)


def symmetric(upper):
    return np.triu(upper) + np.triu(upper, 1).T


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 6, 7])
def test_derivatives_are_pinocchios(seed):
    """Seeds 0, 1: the JetHexa, whole and damaged; then robots of every family, damaged."""
    rng = np.random.default_rng(seed)
    robot = ROBOT if seed < 2 else random_robot(rng, seed % len(FAMILIES), 4)
    morphology = Morphology.whole(robot) if seed == 0 else random_damage(rng, robot)
    model, n = WholeBodyModel(robot), int(morphology.moving_mask.sum())
    R, q, tau = rotation(rng), rng.normal(size=robot.joint_count), rng.normal(size=n)
    nu, nudot = rng.normal(size=(2, 6 + n))
    peer = PinocchioRobot(morphology)
    state = peer.model, peer.data, peer.configuration(R, q), nu
    by_q, by_nu, mass = model.inverse_dynamics_derivatives(R, q, nu, nudot, morphology)
    pin.computeRNEADerivatives(*state, nudot)
    assert_close(by_q, peer.data.dtau_dq)
    assert_close(by_nu, peer.data.dtau_dv)
    assert_close(mass, symmetric(peer.data.M))
    driven = morphology.driven_mask[morphology.moving_mask]
    by_q, by_nu, by_tau = model.forward_dynamics_derivatives(R, q, nu, tau, morphology)
    pin.computeABADerivatives(*state, np.concatenate([np.zeros(6), np.where(driven, tau, 0.0)]))
    assert_close(by_q, peer.data.ddq_dq)
    assert_close(by_nu, peer.data.ddq_dv)
    assert_close(by_tau, symmetric(peer.data.Minv)[:, 6:] * driven)


def test_forward_derivatives_predict_small_changes():
    """Central differences of forward dynamics over a body rotation, a joint and a rate: 1e-7."""
    rng = np.random.default_rng(4)
    R, q, nu, tau = rotation(rng), rng.normal(size=18), rng.normal(size=24), rng.normal(size=18)
    by_conf, by_nu, by_tau = MODEL.forward_dynamics_derivatives(R, q, nu, tau)
    h = 1e-5

    def slope(at):
        return (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)

    for axis in range(3):
        turned = slope(lambda s, axis=axis: MODEL.forward_dynamics(R @ pin.exp3(s * np.eye(3)[axis]), q, nu, tau))
        assert_close(by_conf[:, 3 + axis], turned, 1e-7)
    joint = slope(lambda s: MODEL.forward_dynamics(R, q + s * np.eye(18)[7], nu, tau))
    assert_close(by_conf[:, 6 + 7], joint, 1e-7)
    rate = slope(lambda s: MODEL.forward_dynamics(R, q, nu + s * np.eye(24)[4], tau))
    assert_close(by_nu[:, 4], rate, 1e-7)
    assert not by_conf[:, :3].any()
    assert_close(by_tau[:, 2], slope(lambda s: MODEL.forward_dynamics(R, q, nu, tau + s * np.eye(18)[2])), 1e-7)
