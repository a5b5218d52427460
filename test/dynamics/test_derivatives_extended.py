"""Derivatives of the dynamics against central differences in 50 digits.

The dynamics are evaluated by the plain recursion of formulas.py on mpmath's numbers.
"""

import mpmath as mp
import numpy as np
import pytest
from support.closeness import assert_close
from support.random_robots import random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.formulas import Body
from hexapod_dynamics.robot import Morphology, Robot

STEP = mp.mpf(10) ** -18


class Extended:
    """Dynamics of a morphology in extended precision, as functions of lists of mpmath's numbers."""

    def __init__(self, morphology):
        self.morphology = morphology

    def _body(self, R, q, nu):
        return Body(self.morphology, [[R[r, c] for c in range(3)] for r in range(3)], q, nu, mp.sin, mp.cos)

    def inverse(self, R, q, nu, nudot):
        return self._body(R, q, nu).inverse_dynamics(nudot)

    def forward(self, R, q, nu, tau):
        return self._body(R, q, nu).forward_dynamics(tau)


def turned(R, axis, angle):
    """R exp([angle e_axis]) by Rodrigues' formula."""
    e = [mp.mpf(i == axis) for i in range(3)]
    skew = mp.matrix([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    return R * (mp.eye(3) + mp.sin(angle) * skew + (1 - mp.cos(angle)) * skew * skew)


def differences(function, R, q, nu, given, moving):
    """Columns of the derivatives by configuration, by nu and by what is given, from central differences."""

    def slope(at):
        there, back = at(STEP), at(-STEP)
        return [float((a - b) / (2 * STEP)) for a, b in zip(there, back, strict=True)]

    def shifted(values, index, by):
        return [value + by if i == index else value for i, value in enumerate(values)]

    conf = [np.zeros(len(nu))] * 3  # translation changes nothing
    conf += [slope(lambda h, k=k: function(turned(R, k, h), q, nu, given)) for k in range(3)]
    conf += [slope(lambda h, j=j: function(R, shifted(q, j, h), nu, given)) for j in moving]
    by_nu = [slope(lambda h, i=i: function(R, q, shifted(nu, i, h), given)) for i in range(len(nu))]
    by_given = [slope(lambda h, i=i: function(R, q, nu, shifted(given, i, h))) for i in range(len(given))]
    return (np.array(part).T for part in (conf, by_nu, by_given))


@pytest.mark.parametrize("seed", [0, 1])
def test_derivatives_are_differences_in_extended_precision(seed):
    """The JetHexa, damaged; robots of two families with 4 legs, whole and damaged."""
    rng = np.random.default_rng(seed)
    robot = Robot.jethexa() if seed == 0 else random_robot(rng, seed, 4)
    morphology = Morphology.whole(robot) if seed == 1 else random_damage(rng, robot)
    model, moving = WholeBodyModel(robot), np.flatnonzero(morphology.moving_mask)
    R, q, nu = rotation(rng), rng.normal(size=robot.joint_count), rng.normal(size=6 + len(moving))
    nudot, tau = rng.normal(size=6 + len(moving)), rng.normal(size=len(moving))
    with mp.workdps(50):
        exact, numbers = Extended(morphology), lambda array: [mp.mpf(float(value)) for value in array]
        state = mp.matrix(R.tolist()), numbers(q), numbers(nu)
        value = np.array([float(x) for x in exact.inverse(*state, numbers(nudot))])
        assert_close(model.inverse_dynamics(R, q, nu, nudot, morphology), value, 1e-12)
        parts = model.inverse_dynamics_derivatives(R, q, nu, nudot, morphology)
        for ours, slopes in zip(parts, differences(exact.inverse, *state, numbers(nudot), moving), strict=True):
            assert_close(ours, slopes, 1e-7)
        value = np.array([float(x) for x in exact.forward(*state, numbers(tau))])
        assert_close(model.forward_dynamics(R, q, nu, tau, morphology), value, 1e-9)
        parts = model.forward_dynamics_derivatives(R, q, nu, tau, morphology)
        for ours, slopes in zip(parts, differences(exact.forward, *state, numbers(tau), moving), strict=True):
            assert_close(ours, slopes, 1e-7)
