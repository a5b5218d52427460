"""Lemma 3 against finite differences in extended precision, for every joint kind and damage."""

import mpmath
import numpy as np
import pytest
from support.random_robots import random_damage, random_robot

from hexapod_dynamics.papers.closed_form import ClosedForm, momentum_bracket
from hexapod_dynamics.se3 import ad


def exp(twist, angle):
    """Matrix exponential of a twist times an angle, by its series in extended precision."""
    v, w = twist[:3], twist[3:]
    hat = mpmath.matrix([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]])
    return mpmath.expm(hat * angle, method="taylor")


def adjoint(g):
    R, p = g[:3, :3], g[:3, 3]
    hat = mpmath.matrix([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    top, A = hat * R, mpmath.zeros(6)
    for i in range(3):
        for j in range(3):
            A[i, j] = A[3 + i, 3 + j] = R[i, j]
            A[i, 3 + j] = top[i, j]
    return A


def leg_energy_matrix(constants, q):
    """Leg's mass matrix (6 + n_i) by the product of exponentials (12) and (5), in extended precision."""
    n = len(q)
    M = mpmath.zeros(6 + n)
    moved, columns = mpmath.eye(4), []
    for j in range(int(constants.lam_links.sum())):
        screw = mpmath.matrix(constants.screws[j].tolist())
        columns.append(adjoint(moved) * screw)
        moved = moved * exp(screw, q[j])
        A = adjoint(moved * mpmath.matrix(constants.zero_poses[j].tolist())) ** -1
        J = mpmath.zeros(6, 6 + n)
        for i in range(6):
            J[i, i] = 1
            for k, column in enumerate(columns):
                J[i, 6 + k] = column[i]
        M += (A * J).T * mpmath.matrix(constants.inertias[j].tolist()) * (A * J)
    return M


@pytest.mark.parametrize("family", [1, 3])
def test_lemma_3_is_the_derivative_of_the_mass_matrix(family):
    rng = np.random.default_rng(family)
    robot = random_robot(rng, family, 4)
    closed = ClosedForm(random_damage(rng, robot))
    q = rng.normal(size=robot.joint_count)
    with mpmath.workdps(40):
        step = mpmath.mpf(10) ** -12  # its square is far below a double's rounding
        for constants, joints, leg in zip(closed.constants, closed.joints, closed.legs(q), strict=True):
            place = [
                mpmath.mpf(x if np.isnan(lock) else lock)
                for x, lock in zip(q[joints.start : joints.stop], constants.locked, strict=True)
            ]
            for k in range(int(constants.lam_links.sum())):
                moved = [[x + sign * step if i == k else x for i, x in enumerate(place)] for sign in (1, -1)]
                above, below = (leg_energy_matrix(constants, q_i) for q_i in moved)
                expected = np.array(((above - below) / (2 * step)).tolist(), dtype=float)
                dM00, dM0i, dMii = leg.dmass(k)
                given = np.block([[dM00, dM0i], [dM0i.T, dMii]])
                np.testing.assert_allclose(given, expected, rtol=0, atol=1e-13 * max(1e-3, np.abs(expected).max()))


def test_the_momentum_bracket_is_skew_and_carries_the_momentum():
    rng = np.random.default_rng(0)
    P, V = rng.normal(size=(2, 6))
    B = momentum_bracket(P)
    np.testing.assert_array_equal(B, -B.T)
    np.testing.assert_allclose(B @ V, -ad(V).T @ P, atol=1e-15)
