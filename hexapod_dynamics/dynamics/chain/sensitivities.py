"""Joint torques and their derivatives by q, qdot and qddot in one recursion (Xiang, Arora, Abdel-Malek 2008).

Forward from the base: A_i, B_i, C_i, equations (12)-(14), and their derivatives (21)-(26); backward from the tips: D_i,
E_i, F_i, G_i, (16)-(20), and theirs (27)-(35). In a branched chain every child uses A, B, C of its parent, and the
parent sums the children's D, E, F, G (37); a closed loop is cut, with an external force at the cut and a position
constraint (38).

Everything is vectorised over leading axes (the samples of a motion) and over the joint k of the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.dynamics.chain.chain import BASE, REVOLUTE, Chain
from hexapod_dynamics.errors import DynamicsError


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


class _Base(list[np.ndarray]):
    """One matrix for each body, and one for the base."""

    def __init__(self, base: np.ndarray) -> None:
        super().__init__()
        self.base = base

    def before(self, chain: Chain, i: int) -> np.ndarray:
        """Matrix of body i's parent."""
        return self.base if chain.parents[i] == BASE else self[chain.parents[i]]


class _Kinematics(NamedTuple):
    T: np.ndarray  # (..., n, 4, 4) pose of every body in its parent
    T1: np.ndarray  # its derivatives by q_i
    T2: np.ndarray
    T3: np.ndarray
    A: _Base  # per body (..., 4, 4)
    B: _Base
    C: _Base


def inverse_dynamics(
    chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, loads: Sequence[ExternalLoad] = ()
) -> np.ndarray:
    """Joint torques (..., n) that the motion q, qdot, qddot (..., n) needs under gravity and loads, (12)-(20)."""
    q, qdot, qddot = np.broadcast_arrays(*chain.check_state(q, qdot, qddot))
    k = _forward(chain, q, qdot, qddot)
    inertia, (f, r_f, h) = chain.pseudo_inertias(), _loads(chain, loads)
    g, z = np.append(chain.gravity, 0), _axes(chain)
    T, n = k.T, len(chain)
    D, E, F, G = (_places(n) for _ in range(4))
    torques = np.empty(q.shape)
    for i in reversed(range(n)):
        D[i] = inertia[i] @ _transpose(k.C[i])  # (17)
        E[i] = chain.masses[i] * np.append(chain.coms[i], 1)  # (18)
        F[i], G[i] = r_f[i], h[i]  # (19), (20)
        for c in chain.children(i):  # (37b)
            D[i] = D[i] + T[..., c, :, :] @ D[c]
            E[i] = E[i] + _apply(T[..., c, :, :], E[c])
            F[i] = F[i] + T[..., c, :, :] @ F[c]
            G[i] = G[i] + G[c]
        dA = k.A.before(chain, i) @ k.T1[..., i, :, :]
        torques[..., i] = (
            _trace(dA, D[i]) - _apply(dA, E[i]) @ g - _trace(dA, F[i] @ f.T) - (k.A[i] @ z[i]) @ G[i]
        )  # (16)
    return torques


def sensitivities(
    chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, loads: Sequence[ExternalLoad] = ()
) -> Sensitivities:
    """Torques and their three Jacobians at q, qdot, qddot (..., n) under gravity and `ExternalLoad`s, (12)-(35)."""
    q, qdot, qddot = np.broadcast_arrays(*chain.check_state(q, qdot, qddot))
    n = len(chain)
    k = _forward(chain, q, qdot, qddot)
    A_q, C_q, C_qd, C_qdd = _forward_sensitivities(chain, k, qdot, qddot)
    T, inertia, (f, r_f, h) = k.T, chain.pseudo_inertias(), _loads(chain, loads)
    g, z = np.append(chain.gravity, 0), _axes(chain)
    batch = q.shape[:-1]
    D, E, F, G = (_places(n) for _ in range(4))
    D_q, D_qd, D_qdd, E_q, F_q = (_places(n) for _ in range(5))
    torques = np.empty(q.shape)
    by_q, by_qd, by_qdd = np.empty((3, *batch, n, n))
    for i in reversed(range(n)):
        D[i] = inertia[i] @ _transpose(k.C[i])  # (17)
        D_q[i] = inertia[i] @ _transpose(C_q[i])  # (27), k <= i
        D_qd[i] = inertia[i] @ _transpose(C_qd[i])  # (28)
        D_qdd[i] = inertia[i] @ _transpose(C_qdd[i])  # (29)
        E[i] = np.broadcast_to(chain.masses[i] * np.append(chain.coms[i], 1), (*batch, 4))  # (18)
        E_q[i] = np.zeros((*batch, n, 4))  # (30)
        F[i], G[i] = np.broadcast_to(r_f[i], (*batch, *r_f[i].shape)), h[i]  # (19), (20)
        F_q[i] = np.zeros((*batch, n, *r_f[i].shape))  # (31)
        for c in chain.children(i):  # (37b)
            Tc, T1c = T[..., c, :, :], k.T1[..., c, :, :]
            Tck = Tc[..., None, :, :]
            D_q[i] = D_q[i] + Tck @ D_q[c]
            D_q[i][..., c, :, :] += T1c @ D[c]  # (27), k = i + 1
            D_qd[i] = D_qd[i] + Tck @ D_qd[c]
            D_qdd[i] = D_qdd[i] + Tck @ D_qdd[c]
            E_q[i] = E_q[i] + _apply(Tck, E_q[c])
            E_q[i][..., c, :] += _apply(T1c, E[c])
            F_q[i] = F_q[i] + Tck @ F_q[c]
            F_q[i][..., c, :, :] += T1c @ F[c]
            D[i] = D[i] + Tc @ D[c]
            E[i] = E[i] + _apply(Tc, E[c])
            F[i] = F[i] + Tc @ F[c]
            G[i] = G[i] + G[c]
        before = k.A.before(chain, i)
        dA = before @ k.T1[..., i, :, :]
        A_qq = A_q.before(chain, i) @ k.T1[..., i, None, :, :]  # d2A_i / dq_i dq_k, k < i
        A_qq[..., i, :, :] = before @ k.T2[..., i, :, :]
        torques[..., i] = _trace(dA, D[i]) - _apply(dA, E[i]) @ g - _trace(dA, F[i] @ f.T) - (k.A[i] @ z[i]) @ G[i]
        dAk = dA[..., None, :, :]
        by_q[..., i, :] = (
            _trace(A_qq, D[i][..., None, :, :])
            + _trace(dAk, D_q[i])
            - _apply(A_qq, E[i][..., None, :]) @ g
            - _apply(dAk, E_q[i]) @ g
            - _trace(A_qq, (F[i] @ f.T)[..., None, :, :])
            - _trace(dAk, F_q[i] @ f.T)
            - _apply(A_q[i], z[i]) @ G[i]
        )  # (33)
        by_qd[..., i, :] = _trace(dAk, D_qd[i])  # (34)
        by_qdd[..., i, :] = _trace(dAk, D_qdd[i])  # (35)
    return Sensitivities(torques, by_q, by_qd, by_qdd)


def point_sensitivity(chain: Chain, q: np.ndarray, body: int, point: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Position (..., 3) [m] in the base frame of a point (3,) of a body, and its derivative (..., 3, n): (15), (21)."""
    (q,) = chain.check_state(q)
    still = np.zeros(q.shape)
    k = _forward(chain, q, still, still)
    A_q = _Base(np.zeros((*q.shape[:-1], len(chain), 4, 4)))
    for i in range(body + 1):
        A_q.append(_own(A_q.before(chain, i) @ k.T[..., i, None, :, :], i, k.A.before(chain, i) @ k.T1[..., i, :, :]))
    r = np.append(np.asarray(point, float), 1)
    return (k.A[body] @ r)[..., :3], np.swapaxes((A_q[body] @ r)[..., :3], -1, -2)


def _forward(chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> _Kinematics:
    T = chain.transforms(q)
    X = chain.hats()
    T1 = T @ X
    T2 = T1 @ X
    A, B, C = _Base(np.eye(4)), _Base(np.zeros((4, 4))), _Base(np.zeros((4, 4)))  # (36)
    for i in range(len(chain)):
        A0, B0, C0 = (matrices.before(chain, i) for matrices in (A, B, C))
        Ti, T1i, T2i = T[..., i, :, :], T1[..., i, :, :], T2[..., i, :, :]
        qd, qdd = qdot[..., i, None, None], qddot[..., i, None, None]
        A.append(A0 @ Ti)  # (12)
        B.append(B0 @ Ti + A0 @ T1i * qd)  # (13)
        C.append(C0 @ Ti + 2 * B0 @ T1i * qd + A0 @ T2i * qd**2 + A0 @ T1i * qdd)  # (14)
    return _Kinematics(T, T1, T2, T2 @ X, A, B, C)


def _forward_sensitivities(
    chain: Chain, k: _Kinematics, qdot: np.ndarray, qddot: np.ndarray
) -> tuple[_Base, _Base, _Base, _Base]:
    """dA/dq, dC/dq, dC/dqdot, dC/dqddot of every body: (..., n, 4, 4), the third axis from the last is that of joint
    k.
    """
    n = len(chain)
    zero = np.zeros((*qdot.shape[:-1], n, 4, 4))
    A_q, B_q, B_qd, C_q, C_qd, C_qdd = (_Base(zero) for _ in range(6))
    for i in range(n):
        A0, B0, C0 = (matrices.before(chain, i) for matrices in (k.A, k.B, k.C))
        A0_q, B0_q, B0_qd, C0_q, C0_qd, C0_qdd = (
            matrices.before(chain, i) for matrices in (A_q, B_q, B_qd, C_q, C_qd, C_qdd)
        )
        T0, T1, T2, T3 = (matrices[..., i, :, :] for matrices in (k.T, k.T1, k.T2, k.T3))
        T0k, T1k, T2k = (matrix[..., None, :, :] for matrix in (T0, T1, T2))
        qd, qdd = qdot[..., i, None, None], qddot[..., i, None, None]
        qdk, qddk = qd[..., None, :, :], qdd[..., None, :, :]
        # k < i: derivative from the parent; k = i: the joint's own derivative
        A_q.append(_own(A0_q @ T0k, i, A0 @ T1))  # (21)
        B_q.append(_own(B0_q @ T0k + A0_q @ T1k * qdk, i, B0 @ T1 + A0 @ T2 * qd))  # (22)
        B_qd.append(_own(B0_qd @ T0k, i, A0 @ T1))  # (23)
        C_q.append(
            _own(
                C0_q @ T0k + 2 * B0_q @ T1k * qdk + A0_q @ T2k * qdk**2 + A0_q @ T1k * qddk,
                i,
                C0 @ T1 + 2 * B0 @ T2 * qd + A0 @ T3 * qd**2 + A0 @ T2 * qdd,
            )
        )  # (24)
        C_qd.append(_own(C0_qd @ T0k + 2 * B0_qd @ T1k * qdk, i, 2 * B0 @ T1 + 2 * A0 @ T2 * qd))  # (25)
        C_qdd.append(_own(C0_qdd @ T0k, i, A0 @ T1))  # (26)
    return A_q, C_q, C_qd, C_qdd


def _places(n: int) -> list[np.ndarray]:
    """Return a list for n matrices that are computed from the last to the first."""
    return [np.empty(0)] * n


def _own(handed_on: np.ndarray, i: int, own: np.ndarray) -> np.ndarray:
    handed_on[..., i, :, :] = own
    return handed_on


def _loads(chain: Chain, loads: Sequence[ExternalLoad]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forces as columns of f (4, L), their points r_f (n, 4, L), sums of the moments on each body h (n, 4)."""
    f, r_f, h = np.zeros((4, len(loads))), np.zeros((len(chain), 4, len(loads))), np.zeros((len(chain), 4))
    for column, load in enumerate(loads):
        if not 0 <= load.body < len(chain):
            raise DynamicsError(f"a load acts on body {load.body}, this chain has bodies 0 to {len(chain) - 1}")
        if not np.isfinite([*load.force, *load.point, *load.moment]).all():
            raise DynamicsError(f"the load on body {load.body} is not finite: {load}")
        f[:3, column] = load.force
        r_f[load.body, :, column] = [*load.point, 1]
        h[load.body, :3] += load.moment
    return f, r_f, h


def _axes(chain: Chain) -> np.ndarray:
    """(n,4) axis z_0 of every joint in its body's frame; zero for a prismatic joint, on which a moment does no
    work.
    """
    return np.array(
        [
            [*screw[3:], 0] if kind == REVOLUTE else [0] * 4
            for screw, kind in zip(chain.screws, chain.kinds, strict=True)
        ],
        float,
    )


def _transpose(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)


def _apply(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[..., None])[..., 0]


def _trace(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """tr(left right) without forming the product."""
    return np.einsum("...ab,...ba->...", left, right)
