"""Lemma 3 against finite differences in extended precision, for every joint kind and damage."""

import mpmath as mp
import numpy as np
import pytest
from support.random_robots import random_damage, random_robot

from hexapod_dynamics.dynamics.formulas import Body
from hexapod_dynamics.papers.closed_form import ClosedForm


@pytest.mark.parametrize("family", [1, 3])
def test_lemma_3_is_the_derivative_of_the_mass_matrix(family):
    """Of the mass matrix times a random direction, by the plain recursion of formulas.py in 40 digits."""
    rng = np.random.default_rng(family)
    robot = random_robot(rng, family, 4)
    morphology = random_damage(rng, robot)
    closed, n = ClosedForm(morphology), int(morphology.moving_mask.sum())
    q, direction = rng.normal(size=robot.joint_count), rng.normal(size=6 + n)

    def momentum(q):
        body = Body(morphology, np.eye(3).tolist(), q, [mp.mpf(0)] * (6 + n), mp.sin, mp.cos)
        moving, still = (body.inverse_dynamics([mp.mpf(v) for v in given]) for given in (direction, 0.0 * direction))
        return np.array(moving) - np.array(still)

    with mp.workdps(40):
        step, here = mp.mpf(10) ** -12, [mp.mpf(x) for x in q]  # its square is far below a double's rounding
        for joint in np.flatnonzero(morphology.moving_mask):
            above, below = (
                momentum([x + sign * step if i == joint else x for i, x in enumerate(here)]) for sign in (1, -1)
            )
            expected = ((above - below) / (2 * step)).astype(float)
            given = closed.mass_matrix_derivative(q, joint) @ direction
            np.testing.assert_allclose(given, expected, rtol=0, atol=1e-13 * max(1e-3, np.abs(expected).max()))
