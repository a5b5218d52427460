"""Time derivatives of inverse dynamics of any order, in recursive and in closed form (Mueller & Kumar).

Given q and its derivatives up to order N + 2, both forms return the generalized forces and their derivatives up to
N, for a serial or branched `Chain` on the ground or on a floating base. Twists (v, w) are body-fixed, X_i is joint
i's screw in its body's frame, and every line of inverse dynamics is differentiated by the Leibniz rule (2)

    D^n(a b) = sum_k C(n, k) D^k(a) D^(n-k)(b),      D(Ad_{i,p}) = -ad_{X_i} Ad_{i,p} qdot_i.

Gravity is represented by a base acceleration of -g: the twist G_i = (-R_i^T g, 0) follows D G_i = -ad_{V_i} G_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from hexapod_dynamics import se3
from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.dynamics.checks import as_rotation
from hexapod_dynamics.papers.chain.chain import BASE, Chain, refuse

Matrices = Sequence[np.ndarray] | np.ndarray  # a matrix and its derivatives by time


class FloatingBase(NamedTuple):
    """A free body that carries the chain.

    inertia (6,6) about its frame; rotation (3,3) world <- base; twists (N + 2, 6): its body twist (v, w) and
    derivatives up to order N + 1.
    """

    inertia: np.ndarray
    rotation: np.ndarray
    twists: np.ndarray


class Derivatives(NamedTuple):
    """forces (N + 1, n): row k is the k-th time derivative; base (N + 1, 6): of the wrench on a floating base."""

    forces: np.ndarray
    base: np.ndarray | None


def recursive(chain: Chain, motion: np.ndarray, order: int, base: FloatingBase | None = None) -> Derivatives:
    """Derivatives 0..order of the generalized forces by recursion over bodies and orders (section II).

    motion (order + 3, n): row k is the k-th time derivative of q; DynamicsError for an order below 0, too few rows or a
    value that is not finite.
    """
    motion, base = _check(chain, motion, order, base)
    n, N = len(chain), order
    X, M = chain.screws, chain.spatial_inertias()
    rates = motion[1:]  # rates[k] = q^(k+1)
    Ad = [
        _adjoint_derivatives(se3.Ad(se3.inverse(T)), se3.ad(x), rates[:, i])
        for i, (T, x) in enumerate(zip(chain.transforms(motion[0]), X, strict=True))
    ]
    V, G = np.empty((n, N + 2, 6)), np.empty((n, N + 1, 6))
    V_0, G_0 = _base_motion(chain, base, N)
    for i, parent in enumerate(chain.parents):
        V_p, G_p = (V_0, G_0) if parent == BASE else (V[parent], G[parent])
        for k in range(N + 2):
            V[i, k] = _leibniz(Ad[i], V_p, k) + X[i] * rates[k, i]  # (4), (15)
            if k <= N:
                G[i, k] = _leibniz(Ad[i], G_p, k)
    W, W_0 = [_wrenches(M[i], V[i], G[i], N) for i in range(n)], None  # (13)
    if base is not None:
        W_0 = _wrenches(base.inertia, V_0, G_0, N)
    Q = np.empty((N + 1, n))
    for i in reversed(range(n)):
        parent, Ad_T = chain.parents[i], np.swapaxes(Ad[i], 1, 2)
        onto = W_0 if parent == BASE else W[parent]
        for k in range(N + 1):
            Q[k, i] = X[i] @ W[i][k]
            if onto is not None:
                onto[k] += _leibniz(Ad_T, W[i], k)
    return Derivatives(Q, W_0)


def _wrenches(M: np.ndarray, V: np.ndarray, G: np.ndarray, N: int) -> np.ndarray:
    """Newton-Euler equation (13) of one body and its derivatives: W = M (Vdot + G) - ad_V^T M V."""
    ad_T = np.array([se3.ad(v).T for v in V])
    momentum = V @ M.T
    return np.array([M @ (V[k + 1] + G[k]) - _leibniz(ad_T, momentum, k) for k in range(N + 1)])


def closed_form(chain: Chain, motion: np.ndarray, order: int, base: FloatingBase | None = None) -> Derivatives:
    """The same as `recursive`, by the system matrices A, X, a, b of all bodies at once (section III); same
    arguments.

    A floating base is body 0, whose "joint" has the identity for its screws and the base's twist for its rates.
    """
    motion, base = _check(chain, motion, order, base)
    n, N = len(chain), order
    first = 0 if base is None else 1  # blocks before the chain's bodies
    size = 6 * (n + first)
    rates = motion[1:] if base is None else np.hstack((base.twists, motion[1:]))
    X, M, ad_X = np.zeros((size, n + 6 * first)), np.zeros((size, size)), np.zeros((n, 6, 6))
    if base is not None:
        X[:6, :6], M[:6, :6] = np.eye(6), base.inertia
    step = np.zeros((size, size))  # A = (1 - step)^-1
    for i, (T, parent) in enumerate(zip(chain.transforms(motion[0]), chain.parents, strict=True)):
        rows = _block(i + first)
        X[rows, i + 6 * first] = chain.screws[i]
        M[rows, rows] = chain.spatial_inertias()[i]
        ad_X[i] = se3.ad(chain.screws[i])
        if parent != BASE or base is not None:
            step[rows, _block(parent + first)] = se3.Ad(se3.inverse(T))
    a = [
        block_diag(*[np.zeros((6, 6))] * first, *(ad * rate for ad, rate in zip(ad_X, row[-n:], strict=True)))
        for row in rates
    ]
    A = [np.linalg.solve(np.eye(size) - step, np.eye(size))]  # (28)
    for k in range(N + 1):  # (38), (50)
        A.append(_leibniz(A, a, k) - sum(comb(k, j) * A[j] @ _leibniz(a, A, k - j) for j in range(k + 1)))
    J = [A_k @ X for A_k in A]  # (22), (52)
    V = [sum(comb(k, j) * J[j] @ rates[k - j] for j in range(k + 1)) for k in range(N + 1)]  # (21)
    b = [block_diag(*map(se3.ad, V_k.reshape(-1, 6))) for V_k in V]  # (42)
    gravity = [_gravity_twists(chain, motion[0], base)]
    for k in range(N):  # U' = -b U (44)
        gravity.append(-_leibniz(b, gravity, k))
    MA = [M @ A_k for A_k in A]
    inner = [-_leibniz(MA, a, k) - b[k].T @ M for k in range(N + 1)]  # (41), (57)
    J_T = [J_k.T for J_k in J]
    mass = [_leibniz(J_T, [M @ J_k for J_k in J], k) for k in range(N + 1)]  # (40), (54)
    coriolis = [_leibniz(J_T, [_leibniz(inner, J, j) for j in range(k + 1)], k) for k in range(N + 1)]  # (55), (56)
    loads = [_leibniz(J_T, [M @ G_k for G_k in gravity], k) for k in range(N + 1)]  # (43), (58)
    Q = np.array([_leibniz(mass, rates[1:], k) + _leibniz(coriolis, rates, k) + loads[k] for k in range(N + 1)])  # (45)
    return Derivatives(Q[:, -n:], None if base is None else Q[:, :6])


def _leibniz(a: Matrices, b: Matrices, k: int) -> np.ndarray:
    """k-th derivative of the product a b from their derivatives (2)."""
    return np.sum([comb(k, j) * (a[j] @ b[k - j]) for j in range(k + 1)], axis=0)


def _adjoint_derivatives(Ad: np.ndarray, ad_X: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Derivatives 0..len(rates) - 1 of Ad_{i,p}, from D Ad = -ad_X Ad qdot (10)."""
    derivatives = [Ad]
    for k in range(len(rates) - 1):
        derivatives.append(-ad_X @ sum(comb(k, j) * rates[k - j] * derivatives[j] for j in range(k + 1)))
    return np.array(derivatives)


def _base_motion(chain: Chain, base: FloatingBase | None, N: int) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the base's twist (N + 2, 6) and of the twist that represents gravity (N + 1, 6)."""
    if base is None:
        G = np.zeros((N + 1, 6))
        G[0, :3] = -chain.gravity
        return np.zeros((N + 2, 6)), G
    gravity = [np.concatenate((-base.rotation.T @ chain.gravity, np.zeros(3)))]
    ad = [-se3.ad(twist) for twist in base.twists]
    for k in range(N):
        gravity.append(_leibniz(ad, gravity, k))
    return base.twists, np.array(gravity)


def _gravity_twists(chain: Chain, q: np.ndarray, base: FloatingBase | None) -> np.ndarray:
    rotations = chain.poses(q)[:, :3, :3]
    if base is not None:
        rotations = np.concatenate(([base.rotation], base.rotation @ rotations))
    return np.hstack((-chain.gravity @ rotations, np.zeros((len(rotations), 3)))).ravel()


def _block(i: int) -> slice:
    return slice(6 * i, 6 * i + 6)


def _check(
    chain: Chain, motion: np.ndarray, order: int, base: FloatingBase | None
) -> tuple[np.ndarray, FloatingBase | None]:
    whole = not isinstance(order, bool) and int(order) == order and order >= 0
    refuse(not whole, f"order is {order!r}, allowed: 0 (the forces themselves), 1, 2, ...")
    motion, n = np.asarray(motion, float), len(chain)
    refuse(
        motion.ndim != 2 or motion.shape[1] != n or len(motion) < order + 3,
        f"motion has shape {motion.shape}, order {order} needs q and {order + 2} derivatives of {n} joints: "
        f"({order + 3}, {n})",
    )
    motion = motion[: order + 3]
    for k, row in enumerate(motion):
        refuse(not np.isfinite(row).all(), f"derivative {k} of q is not finite")
    if base is None:
        return motion, None
    inertia, rotation, twists = (np.asarray(part, float) for part in base)
    refuse(
        twists.ndim != 2 or twists.shape[1] != 6 or len(twists) < order + 2 or not np.isfinite(twists).all(),
        f"the base has twists {twists.shape}, order {order} needs finite ({order + 2}, 6)",
    )
    as_array("base's inertia", inertia, (6, 6))
    symmetric = np.allclose(inertia, inertia.T, rtol=0, atol=1e-12 * np.abs(inertia).max())
    refuse(not symmetric, f"the base's inertia is not symmetric: {inertia.tolist()}")
    positive = np.linalg.eigvalsh(inertia)[0] > 0
    refuse(not positive, f"the base's inertia is not positive definite: {inertia.tolist()}")
    as_rotation("base's rotation", rotation)
    return motion, FloatingBase(inertia, rotation, twists[: order + 2])
