"""Joint torques and their derivatives by q, qdot and qddot in one recursion (Xiang, Arora, Abdel-Malek 2008).

Forward from the base: A_i, B_i, C_i, equations (12)-(14), and their derivatives (21)-(26). Backward from the tips:
D_i, E_i, F_i, G_i, (16)-(20). Torques need D, E and F only as W_i = D_i - E_i g^T - F_i f^T, and with J_i the pseudo
inertia and f_l the force at the point r_l of body i, (17)-(19) and their derivatives (27)-(32) are

    W_i = J_i C_i^T - m_i r_i g^T - sum r_l f_l^T + sum over children c of T_c W_c            (37b)
    tau_i = tr(dA_i/dq_i W_i) - (A_i z_0) . G_i                                               (16)

A closed loop is cut, with an external force at the cut and a position constraint (38).

Everything is vectorised over leading axes (the samples of a motion) and over the joint k of the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.chain import BASE, Chain


class ExternalLoad(NamedTuple):
    """A force (3,) [N] at a point (3,) [m, body frame] of body k and a moment (3,) [N m] on it, both in base axes."""

    body: int
    force: tuple = (0.0, 0.0, 0.0)
    point: tuple = (0.0, 0.0, 0.0)
    moment: tuple = (0.0, 0.0, 0.0)


class Sensitivities(NamedTuple):
    """Joint torques (..., n) and their derivatives (..., n, n): entry [i, k] is d tau_i / d q_k and so on."""

    torques: np.ndarray
    by_q: np.ndarray
    by_qdot: np.ndarray
    by_qddot: np.ndarray


def inverse_dynamics(
    chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, loads: Sequence[ExternalLoad] = ()
) -> np.ndarray:
    """Joint torques (..., n) that the motion q, qdot, qddot (..., n) needs under gravity and loads, (12)-(20)."""
    return sensitivities(chain, q, qdot, qddot, loads).torques


def sensitivities(
    chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, loads: Sequence[ExternalLoad] = ()
) -> Sensitivities:
    """Torques and their three Jacobians at q, qdot, qddot (..., n) under gravity and `ExternalLoad`s, (12)-(35)."""
    q, qdot, qddot = np.broadcast_arrays(*chain.check_state(q, qdot, qddot))
    n, batch, X = len(chain), q.shape[:-1], chain.hats()[:, None]
    # Matrices are those of body i, (..., 1, 4, 4), with the base's in the last place, where index BASE finds it; the
    # axis of length 1 is n in derivatives, that of joint k.
    T = np.moveaxis(chain.transforms(q), -3, 0)[..., None, :, :]
    T1 = np.array([T[i] @ X[i] for i in range(n)])  # derivatives by q_i
    T2 = np.array([T1[i] @ X[i] for i in range(n)])
    T3 = np.array([T2[i] @ X[i] for i in range(n)])
    A, B, C = np.zeros((3, n + 1, *batch, 1, 4, 4))
    A[BASE] = np.eye(4)  # (36)
    A_q, B_q, B_qd, C_q, C_qd, C_qdd = by_state = np.zeros((6, n + 1, *batch, n, 4, 4))
    for i, p in enumerate(chain.parents):
        qd, qdd, own = qdot[..., i, None, None, None], qddot[..., i, None, None, None], np.s_[..., i : i + 1, :, :]
        A[i] = A[p] @ T[i]  # (12)
        B[i] = B[p] @ T[i] + A[p] @ T1[i] * qd  # (13)
        C[i] = C[p] @ T[i] + 2 * B[p] @ T1[i] * qd + A[p] @ T2[i] * qd**2 + A[p] @ T1[i] * qdd  # (14)
        # k < i: derivative from the parent; k = i: the joint's own derivative
        A_q[i] = A_q[p] @ T[i]
        A_q[i][own] = A[p] @ T1[i]  # (21)
        B_q[i] = B_q[p] @ T[i] + A_q[p] @ T1[i] * qd
        B_q[i][own] = B[p] @ T1[i] + A[p] @ T2[i] * qd  # (22)
        B_qd[i] = B_qd[p] @ T[i]
        B_qd[i][own] = A[p] @ T1[i]  # (23)
        C_q[i] = C_q[p] @ T[i] + 2 * B_q[p] @ T1[i] * qd + A_q[p] @ T2[i] * qd**2 + A_q[p] @ T1[i] * qdd
        C_q[i][own] = C[p] @ T1[i] + 2 * B[p] @ T2[i] * qd + A[p] @ T3[i] * qd**2 + A[p] @ T2[i] * qdd  # (24)
        C_qd[i] = C_qd[p] @ T[i] + 2 * B_qd[p] @ T1[i] * qd
        C_qd[i][own] = 2 * B[p] @ T1[i] + 2 * A[p] @ T2[i] * qd  # (25)
        C_qdd[i] = C_qdd[p] @ T[i]
        C_qdd[i][own] = A[p] @ T1[i]  # (26)
    J, (pulls, G), z = chain.pseudo_inertias(), _loads(chain, loads), _axes(chain)
    W, W_by = np.zeros((n + 1, *batch, 1, 4, 4)), np.zeros((3, n + 1, *batch, n, 4, 4))
    torques, by = np.empty(q.shape), np.empty((3, *batch, n, n))
    for i in reversed(range(n)):
        p, own = chain.parents[i], np.s_[..., i : i + 1, :, :]
        W[i] += J[i] @ np.swapaxes(C[i], -1, -2) - pulls[i]  # (17)-(19)
        W_by[:, i] += J[i] @ np.swapaxes(by_state[3:, i], -1, -2)  # (27)-(29); (30) and (31) are zero for k <= i
        dA, A_qq = A[p] @ T1[i], A_q[p] @ T1[i]  # dA_i / dq_i, d2A_i / dq_i dq_k
        A_qq[own] = A[p] @ T2[i]
        torques[..., i] = _trace(dA, W[i])[..., 0] - (A[i] @ z[i])[..., 0, :] @ G[i]  # (16)
        by[..., i, :] = _trace(dA, W_by[:, i])  # (34), (35)
        by[0, ..., i, :] += _trace(A_qq, W[i]) - (A_q[i] @ z[i]) @ G[i]  # (33)
        W[p] += T[i] @ W[i]  # (37b)
        W_by[:, p] += T[i] @ W_by[:, i]
        W_by[0, p][own] += T1[i] @ W[i]
        G[p] += G[i]  # (20)
    return Sensitivities(torques, *by)


def point_sensitivity(chain: Chain, q: np.ndarray, body: int, point: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Position (..., 3) [m] in the base frame of a point (3,) of a body, and its derivative (..., 3, n): (15), (21)."""
    (q,) = chain.check_state(q)
    T, poses, hats = chain.transforms(q), chain.poses(q), chain.hats()
    r, by_q = np.append(np.asarray(point, float), 1.0)[:, None], np.zeros((*q.shape[:-1], 3, len(chain)))
    while body != BASE:  # r: the point in this body's frame
        by_q[..., body] = (poses[..., body, :, :] @ hats[body] @ r)[..., :3, 0]
        r, body = T[..., body, :, :] @ r, chain.parents[body]
    return r[..., :3, 0], by_q


def _loads(chain: Chain, loads: Sequence[ExternalLoad]) -> tuple[np.ndarray, np.ndarray]:
    """Weight and forces of each body as m r g^T + sum r_l f_l^T (n, 4, 4), and its moments (n + 1, 4)."""
    pulls, moments = np.zeros((len(chain), 4, 4)), np.zeros((len(chain) + 1, 4))
    for i, (mass, com) in enumerate(zip(chain.masses, chain.coms, strict=True)):
        pulls[i] = mass * np.outer([*com, 1], [*chain.gravity, 0])
    for load in loads:
        if not 0 <= load.body < len(chain):
            raise DynamicsError(f"a load acts on body {load.body}, this chain has bodies 0 to {len(chain) - 1}")
        if not np.isfinite([*load.force, *load.point, *load.moment]).all():
            raise DynamicsError(f"the load on body {load.body} is not finite: {load}")
        pulls[load.body] += np.outer([*load.point, 1], [*load.force, 0])
        moments[load.body, :3] += load.moment
    return pulls, moments


def _axes(chain: Chain) -> np.ndarray:
    """(n,4) axis z_0 of every joint in its body's frame; zero for a prismatic joint, on which a moment does no
    work.
    """
    return np.column_stack([chain.screws[:, 3:], np.zeros(len(chain))])


def _trace(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """tr(left right) without forming the product."""
    return np.einsum("...ab,...ba->...", left, right)
