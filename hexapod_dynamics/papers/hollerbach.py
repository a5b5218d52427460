"""Inverse dynamics of a serial chain in six formulations (Hollerbach 1980): the same torques with n^4 to n
operations.

`FORMULATIONS`: `uicker_kahn` (4), `waters` (6)-(10), `recursive_4x4` (12)-(14), `recursive_3x3` (15)-(18),
`newton_euler` in link coordinates and `configuration_space` take a chain and q, qdot, qddot (n,) and return the
generalized forces (n,) [N m or N]. Each is written as in the paper, and shares only what its equations share, so that
Tables I and II follow from runs on counting numbers (`hollerbach_operations`).

Frames as in the paper's Fig. 1: z_i is on the axis of joint i+1, frame 0 is the base; the frames of a chain from
screws are changed accordingly. Four misprints of the paper are corrected where they occur: the gravity terms of
(6), (11), (13) have J_j r_j in place of r_j; (16) has one minus sign and one transpose too many; (18) uses vectors
from the origin i although dW_i/dq_i turns about the axis through the origin i-1; and in Newton-Euler the
acceleration of a mass centre needs that of its own link's origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.se3 import Ad, inverse, pose

Matrices = list[np.ndarray]


@dataclass(frozen=True)
class LinkTerms:
    """Inputs of the formulations: A_j and its derivatives by q_j, and the links' constants, in the paper's frames.

    A, dA, d2A (n,4,4); J (n,4,4) about the link frame; m (n,), mass_outward (n,) of link j and all beyond; r (n,4)
    centre of mass, homogeneous; inertia (n,3,3) about it; g (4,) in frame 0; p_star (n,3) from origin j-1 to j and
    z (n,3) the joint's axis z_{j-1}, both in frame j; slides (n,) of bool. Link j of the paper is index j-1.
    """

    A: np.ndarray
    dA: np.ndarray
    d2A: np.ndarray
    J: np.ndarray
    m: np.ndarray
    mass_outward: np.ndarray
    r: np.ndarray
    inertia: np.ndarray
    g: np.ndarray
    p_star: np.ndarray
    z: np.ndarray
    slides: tuple[bool, ...]


def link_terms(chain: Chain, q: np.ndarray) -> LinkTerms:
    """Return the terms of a serial chain at q (n,); DynamicsError for a branched one, whose links have no single
    next axis.
    """
    if not chain.serial:
        raise DynamicsError("this formulation is for serial chains and this one branches; see sensitivities, nth_order")
    n = len(chain)
    to_axis = [_onto_axis(chain.placements[i], chain.screws[i]) for i in range(n)] + [np.eye(4)]
    T, hats = chain.transforms(q), chain.hats()
    A = np.array([inverse(to_axis[i]) @ T[i] @ to_axis[i + 1] for i in range(n)])
    hats = np.array([inverse(to_axis[i + 1]) @ hats[i] @ to_axis[i + 1] for i in range(n)])
    pseudo = chain.pseudo_inertias()
    back = [inverse(frame) for frame in to_axis]
    turn = [frame[:3, :3] for frame in to_axis]
    return LinkTerms(
        A=A,
        dA=A @ hats,
        d2A=A @ hats @ hats,
        J=np.array([back[i + 1] @ pseudo[i] @ back[i + 1].T for i in range(n)]),
        m=chain.masses,
        mass_outward=np.cumsum(chain.masses[::-1])[::-1],
        r=np.array([back[i + 1] @ [*chain.coms[i], 1] for i in range(n)]),
        inertia=np.array([turn[i + 1].T @ chain.inertias[i] @ turn[i + 1] for i in range(n)]),
        g=np.array([*(turn[0].T @ chain.gravity), 0]),
        p_star=np.einsum("jab,ja->jb", A[:, :3, :3], A[:, :3, 3]),
        z=A[:, 2, :3],
        slides=tuple((~chain.turns).tolist()),
    )


def _onto_axis(placement: np.ndarray, screw: np.ndarray) -> np.ndarray:
    """Rigid motion from the parent's frame to a frame with its origin on the joint's axis and z along it."""
    at_zero = Ad(placement) @ screw
    linear, angular = at_zero[:3], at_zero[3:]
    turns = bool(np.any(angular))
    z = angular if turns else linear
    helper = np.eye(3)[np.argmin(np.abs(z))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return pose(np.column_stack((x, np.cross(z, x), z)), np.cross(z, linear) if turns else np.zeros(3))


# ---- the six, each from its terms: these run on floats and on counting numbers alike --------------------------------


def uicker_kahn_terms(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Equation (4) as printed, with the decompositions (5) stored: order n^4."""
    n = len(k.m)
    dW, d2W = _uicker_derivatives(k)
    F = _zeros(qddot)
    for i in range(n):
        for j in range(i, n):
            for a in range(j + 1):
                F[i] += np.trace(dW[j][i] @ k.J[j] @ dW[j][a].T) * qddot[a]
                for b in range(j + 1):
                    F[i] += np.trace(dW[j][i] @ k.J[j] @ d2W[j][min(a, b)][max(a, b)].T) * (qdot[a] * qdot[b])
            F[i] -= k.m[j] * (k.g @ (dW[j][i] @ k.r[j]))
    return F


def _uicker_derivatives(k: LinkTerms) -> tuple[list[Matrices], list[list[Matrices]]]:
    """dW_j/dq_a (a <= j) and d2W_j/dq_a dq_b (a <= b <= j) by (5), from the stored products aW_j."""
    n = len(k.m)
    partial: list[Matrices] = [[np.empty(0)] * n for _ in range(n)]  # partial[a][j] = A_{a+1} ... A_j
    for a in range(n):
        for j in range(a + 1, n):
            partial[a][j] = k.A[j] if j == a + 1 else partial[a][j - 1] @ k.A[j]
    W = list(accumulate(k.A, np.matmul))
    lead = [k.dA[0]] + [W[a - 1] @ k.dA[a] for a in range(1, n)]  # W_{a-1} dA_a/dq_a
    twice = [k.d2A[0]] + [W[a - 1] @ k.d2A[a] for a in range(1, n)]
    dW = [[lead[a] if a == j else lead[a] @ partial[a][j] for a in range(j + 1)] for j in range(n)]
    d2W: list[list[Matrices]] = [[[np.empty(0)] * (j + 1) for _ in range(j + 1)] for j in range(n)]
    for j in range(n):
        for a in range(j + 1):
            for b in range(a, j + 1):
                inner = twice[a] if a == b else dW[b - 1][a] @ k.dA[b]
                d2W[j][a][b] = inner if b == j else inner @ partial[b][j]
    return dW, d2W


def waters_terms(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Equation (6) with the backward recursion (8)-(10): order n^2."""
    n = len(k.m)
    dW_first, _, Wddot = _motion(k, qdot, qddot)
    F = _zeros(qddot)
    dW: list[np.ndarray] = []  # dW_j/dq_i for the present j
    for j in range(n):
        dW = [before @ k.A[j] for before in dW] + [dW_first[j]]
        JWddot = k.J[j] @ Wddot[j].T
        for i in range(j + 1):
            F[i] += np.trace(dW[i] @ JWddot) - k.m[j] * (k.g @ (dW[i] @ k.r[j]))  # (6)
    return F


def recursive_4x4_terms(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Backward recursion (8)-(10), forward recursion (12)-(14), homogeneous matrices: order n."""
    n = len(k.m)
    dW, _, Wddot = _motion(k, qdot, qddot)
    F, D, c = _zeros(qddot), None, None
    for i in reversed(range(n)):
        D = k.J[i] @ Wddot[i].T if i == n - 1 else k.J[i] @ Wddot[i].T + k.A[i + 1] @ D  # (12)
        c = k.r[i] * k.m[i] if i == n - 1 else k.r[i] * k.m[i] + k.A[i + 1] @ c  # (13)
        F[i] = np.trace(dW[i] @ D) - k.g @ (dW[i] @ c)  # (14)
    return F


def recursive_3x3_terms(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """The same with rotation matrices and vectors (15)-(18): order n, half the operations."""
    n = len(k.m)
    R = replace(k, **{field: getattr(k, field)[:, :3, :3] for field in ("A", "dA", "d2A", "J")})
    r, g = k.r[:, :3], k.g[:3]
    dW, Wdot, Wddot = _motion(R, qdot, qddot)
    first_moment = [r[j] * k.m[j] for j in range(n)]  # n_j (A4)
    W = list(accumulate(R.A, np.matmul)) if any(k.slides) else []
    pddot: list[np.ndarray] = []
    for j in range(n):  # (16)
        step = Wddot[j] @ k.p_star[j]
        if k.slides[j]:
            step = step + Wdot[j] @ k.z[j] * (2 * qdot[j]) + W[j] @ k.z[j] * qddot[j]
        pddot.append(step if j == 0 else pddot[-1] + step)
    F, D, e, c = _zeros(qddot), None, None, None
    for i in reversed(range(n)):
        own = pddot[i] * k.m[i] + Wddot[i] @ first_moment[i]
        e = own if i == n - 1 else e + own  # (18)
        D_own = np.outer(first_moment[i], pddot[i]) + R.J[i] @ Wddot[i].T + np.outer(k.p_star[i], e)
        D = D_own if i == n - 1 else R.A[i + 1] @ D + D_own  # (18)
        c_own = k.p_star[i] * k.mass_outward[i] + first_moment[i]
        c = c_own if i == n - 1 else R.A[i + 1] @ c + c_own  # (13)
        if k.slides[i]:  # dp_j/dq_i is the axis and dW_j/dq_i is zero in (15)
            F[i] = (e - g * k.mass_outward[i]) @ (W[i] @ k.z[i])
        else:
            F[i] = np.trace(dW[i] @ D) - g @ (dW[i] @ c)  # (17)
    return F


def newton_euler_terms(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Newton-Euler recursion, everything in link coordinates (Luh, Walker and Paul, as the paper gives it): order n."""
    n = len(k.m)
    A = k.A[:, :3, :3]
    r_star = k.r[:, :3]
    p_star, z = k.p_star, k.z
    f_link, n_link = [], []
    omega: np.ndarray = np.empty(0)  # empty: the base is at rest
    omega_dot: np.ndarray = omega
    acceleration = -k.g[:3]
    for i in range(n):
        acceleration = A[i].T @ acceleration
        if omega.size:
            omega, omega_dot = A[i].T @ omega, A[i].T @ omega_dot
        if k.slides[i]:
            acceleration = acceleration + z[i] * qddot[i]
            if omega.size:
                acceleration = acceleration + cross(omega, z[i]) * (2 * qdot[i])
        else:
            turn = z[i] * qdot[i]
            if not omega.size:
                omega, omega_dot = turn, z[i] * qddot[i]
            else:
                omega_dot = omega_dot + z[i] * qddot[i] + cross(omega, turn)
                omega = omega + turn
        com = acceleration
        if omega.size:
            acceleration = acceleration + cross(omega_dot, p_star[i]) + cross(omega, cross(omega, p_star[i]))
            com = acceleration + cross(omega_dot, r_star[i]) + cross(omega, cross(omega, r_star[i]))
            n_link.append(k.inertia[i] @ omega_dot + cross(omega, k.inertia[i] @ omega))
        else:
            n_link.append(None)
        f_link.append(com * k.m[i])
    F, force, moment_beyond = _zeros(qddot), None, None
    for i in reversed(range(n)):
        moment = cross(p_star[i] + r_star[i], f_link[i])
        if n_link[i] is not None:
            moment = moment + n_link[i]
        if i == n - 1:
            force = f_link[i]
        else:
            passed_on = A[i + 1] @ force
            moment = moment + A[i + 1] @ moment_beyond + cross(p_star[i], passed_on)
            force = f_link[i] + passed_on
        moment_beyond = moment
        F[i] = z[i] @ (force if k.slides[i] else moment)
    return F


def configuration_space_terms(
    G: np.ndarray, J: np.ndarray, C: np.ndarray, qdot: np.ndarray, qddot: np.ndarray
) -> np.ndarray:
    """F = G + J qddot + qdot C qdot from G (n,), J (n,n), C (n,n,n) tabulated at q (Horn and Raibert): order n^3."""
    n = len(G)
    F = _zeros(qddot)
    for i in range(n):
        inertial, coriolis = _zeros(qddot[:1])[0], _zeros(qddot[:1])[0]
        for j in range(n):
            inertial = inertial + J[i, j] * qddot[j]
            for a in range(n):
                coriolis = coriolis + C[i, j, a] * qdot[j] * qdot[a]
        F[i] = G[i] + inertial + coriolis
    return F


def configuration_tables(k: LinkTerms) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tables of the configuration space method at one posture: G, J, C from the three sums of (4)."""
    n = len(k.m)
    dW, d2W = _uicker_derivatives(k)
    G, J, C = np.zeros(n), np.zeros((n, n)), np.zeros((n, n, n))
    for i in range(n):
        for j in range(i, n):
            dWJ = dW[j][i] @ k.J[j]
            G[i] -= k.m[j] * (k.g @ (dW[j][i] @ k.r[j]))
            for a in range(j + 1):
                J[i, a] += np.sum(dWJ * dW[j][a])
                for b in range(j + 1):
                    C[i, a, b] += np.sum(dWJ * d2W[j][min(a, b)][max(a, b)])
    return G, J, C


def _motion(k: LinkTerms, qdot: np.ndarray, qddot: np.ndarray) -> tuple[Matrices, Matrices, Matrices]:
    """dW_j/dq_j, Wdot_j and Wddot_j from the base outward, equations (8) to (10); W_0 = I at rest."""
    W = k.A[0]
    dW, Wdot = [k.dA[0]], [k.dA[0] * qdot[0]]
    Wddot = [k.d2A[0] * (qdot[0] * qdot[0]) + k.dA[0] * qddot[0]]
    for j in range(1, len(k.m)):
        A, dA, d2A = k.A[j], k.dA[j], k.d2A[j]
        dW.append(W @ dA)
        Wddot.append(
            Wddot[-1] @ A + Wdot[-1] @ dA * (2 * qdot[j]) + W @ d2A * (qdot[j] * qdot[j]) + W @ dA * qddot[j]
        )  # (10)
        Wdot.append(Wdot[-1] @ A + W @ dA * qdot[j])  # (9)
        W = W @ A  # (8)
    return dW, Wdot, Wddot


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product (3,), written out so that it also works with counting numbers."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _zeros(like: np.ndarray) -> np.ndarray:
    return like * 0 if like.dtype == float else type(like[0]).zeros(len(like))


# The formulations as functions of given terms, for counting operations and measuring times.
TERMS = {
    "uicker_kahn": uicker_kahn_terms,
    "waters": waters_terms,
    "recursive_4x4": recursive_4x4_terms,
    "recursive_3x3": recursive_3x3_terms,
    "newton_euler": newton_euler_terms,
}


def _of_chain(formulation: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the formulation as a function of a chain and its state; see the module."""

    def torques(chain: Chain, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
        q, qdot, qddot = chain.check_state(q, qdot, qddot)
        return formulation(link_terms(chain, q), qdot, qddot)

    return torques


# Generalized forces (n,) of a chain at q, qdot, qddot; the configuration space method's tables are made for each call.
FORMULATIONS = {name: _of_chain(formulation) for name, formulation in TERMS.items()} | {
    "configuration_space": _of_chain(lambda k, *rates: configuration_space_terms(*configuration_tables(k), *rates))
}
