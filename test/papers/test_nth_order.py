import mpmath as mp
import numpy as np
import pytest
from support.extended_precision import DIGITS, ExtendedChain, as_floats, derivatives, matrix
from support.pinocchio_chain import random_chain, rnea

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.nth_order import FloatingBase, closed_form, recursive

TOLERANCE = 1e-8  # the issue's, relative; observed 1e-13
ORDER = 6
TIME = 0.7


def relative(a, b):
    """Largest error of each row, relative to the row's largest entry."""
    return (np.abs(a - b).max(axis=1) / np.abs(b).max(axis=1)).max()


class Sines:
    """q_i(t) = a sin(w t + p) + c, in extended precision with its derivatives."""

    def __init__(self, rng, n):
        self.rows = [
            [mp.mpf(float(v)) for v in rng.uniform(low, high, n)]
            for low, high in ((0.3, 1), (0.7, 1.6), (0, 3), (-1, 1))
        ]

    def __call__(self, t, k=0):
        return [
            a * w**k * mp.sin(w * t + p + k * mp.pi / 2) + (c if k == 0 else 0)
            for a, w, p, c in zip(*self.rows, strict=True)
        ]

    def floats(self, t, order):
        return as_floats([self(t, k) for k in range(order + 1)])


def moving_base(path, t):
    """Pose W of the base and its two time derivatives: translation and three turns by six sines."""
    q, qd, qdd = (path(t, k) for k in range(3))
    W = matrix(np.eye(4)), matrix(np.zeros((4, 4))), matrix(np.zeros((4, 4)))
    for i in range(6):
        hat = matrix(np.zeros((4, 4)))
        if i < 3:
            hat[i, 3] = mp.mpf(1)
            A = matrix(np.eye(4)) + q[i] * hat
        else:
            a, b = [(1, 2), (2, 0), (0, 1)][i - 3]
            hat[b, a], hat[a, b] = mp.mpf(1), mp.mpf(-1)
            A = matrix(np.eye(4)) + mp.sin(q[i]) * hat + (1 - mp.cos(q[i])) * (hat @ hat)
        dA, ddA = A @ hat, A @ hat @ hat
        W = (
            W[0] @ A,
            W[1] @ A + W[0] @ dA * qd[i],
            W[2] @ A + 2 * (W[1] @ dA) * qd[i] + W[0] @ ddA * qd[i] ** 2 + W[0] @ dA * qdd[i],
        )
    return W


def base_twist(path, t):
    W, W1, _ = moving_base(path, t)
    hat = np.block([[W[:3, :3].T @ W1[:3, :3], (W[:3, :3].T @ W1[:3, 3])[:, None]]])
    return [*hat[:, 3], hat[2, 1], hat[0, 2], hat[1, 0]]


@pytest.mark.parametrize("n, tree", [(1, False), (3, False), (5, True), (7, True)])
def test_both_forms_equal_differences_in_extended_precision(n, tree):
    rng = np.random.default_rng(10 * n + tree)
    chain = random_chain(rng, n, tree=tree)
    path, extended = Sines(rng, n), ExtendedChain(chain)
    with mp.workdps(DIGITS):
        reference = as_floats(
            derivatives(lambda t: extended.forces(*(path(t, k) for k in range(3))), mp.mpf(TIME), ORDER)
        )
        motion = path.floats(mp.mpf(TIME), ORDER + 2)
    assert np.allclose(reference[0], rnea(chain, *motion[:3]), rtol=1e-12, atol=1e-12)
    for form in (recursive, closed_form):
        assert relative(form(chain, motion, ORDER).forces, reference) < TOLERANCE


def test_a_floating_base_equals_differences_in_extended_precision():
    rng = np.random.default_rng(3)
    chain = random_chain(rng, 4, tree=True)
    body = random_chain(rng, 1)  # lends the base its mass
    path, base_path = Sines(rng, 4), Sines(rng, 6)
    extended = ExtendedChain(chain, body.pseudo_inertias()[0])

    def forces(t):
        joints, wrench = extended.forces(*(path(t, k) for k in range(3)), moving_base(base_path, t))
        return [*joints, *wrench]

    with mp.workdps(DIGITS):
        t = mp.mpf(TIME)
        reference = as_floats(derivatives(forces, t, ORDER))
        twists = as_floats(derivatives(lambda t: base_twist(base_path, t), t, ORDER + 1))
        rotation = as_floats(moving_base(base_path, t)[0])[:3, :3]
        motion = path.floats(t, ORDER + 2)
    base = FloatingBase(body.spatial_inertias()[0], rotation, twists)
    for form in (recursive, closed_form):
        ours = form(chain, motion, ORDER, base)
        assert relative(np.hstack((ours.forces, ours.base)), reference) < TOLERANCE


@pytest.mark.parametrize("form", [recursive, closed_form])
def test_wrong_input_is_refused_by_name(form):
    chain = random_chain(np.random.default_rng(6), 2)
    motion = np.zeros((5, 2))
    for order, needle in ((-1, "order is -1"), (1.5, "order is 1.5"), (True, "order is True"), (3, "needs q and 5")):
        with pytest.raises(DynamicsError, match=needle):
            form(chain, motion, order)
    with pytest.raises(DynamicsError, match="shape"):
        form(chain, np.zeros((5, 3)), 1)
    motion[2, 1] = np.nan
    with pytest.raises(DynamicsError, match="derivative 2 of q is not finite"):
        form(chain, motion, 1)
    with pytest.raises(DynamicsError, match="the base has twists"):
        form(chain, np.zeros((5, 2)), 2, FloatingBase(np.eye(6), np.eye(3), np.zeros((2, 6))))
    skewed = np.eye(6) + np.diag([0.1] * 5, 1)
    for inertia, rotation, needle in (
        (np.full((6, 6), np.nan), np.eye(3), "inertia: .* not finite"),
        (skewed, np.eye(3), "inertia is not symmetric"),
        (-np.eye(6), np.eye(3), "inertia is not positive"),
        (np.eye(6), np.ones((3, 3)), "rotation: .* is not a rotation"),
    ):
        with pytest.raises(DynamicsError, match=needle):
            form(chain, np.zeros((5, 2)), 1, FloatingBase(inertia, rotation, np.zeros((3, 6))))
