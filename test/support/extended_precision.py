"""Inverse dynamics in mpmath by Hollerbach's 4x4 matrices, and its time derivatives by finite differences.

Only the numbers of the chain are shared with the code under test: poses are products of 4x4 matrices, accelerations are
the second derivatives of the poses, forces are traces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

DIGITS, STEP = 80, mp.mpf(10) ** -8  # a k-th difference errs by h^2 and by 10^-80 / h^k: 1e-16 for k <= 7


def matrix(rows: Any) -> np.ndarray:
    """Return the numbers as an array of mpmath numbers."""
    return np.array([[mp.mpf(float(v)) for v in row] for row in rows], object)


class ExtendedChain:
    """A chain on a base whose pose is a given function of time."""

    def __init__(self, chain: Any, base_inertia: Any = None) -> None:
        self.chain = chain
        self.B = [matrix(placement) for placement in chain.placements]
        self.X = [matrix(hat) for hat in chain.hats()]
        self.J = [matrix(pseudo) for pseudo in chain.pseudo_inertias()]
        self.g = np.array([mp.mpf(float(v)) for v in (*chain.gravity, 0)], object)
        self.J_0 = None if base_inertia is None else matrix(base_inertia)

    def joint(self, i: int, q: np.ndarray) -> np.ndarray:
        """Return the pose (4, 4) of joint i in its parent at position q."""
        X, one = self.X[i], matrix(np.eye(4))
        if self.chain.turns[i]:
            return self.B[i] @ (one + mp.sin(q) * X + (1 - mp.cos(q)) * (X @ X))
        return self.B[i] @ (one + q * X)

    def forces(self, q: np.ndarray, qd: Any, qdd: Any, base: Any = None) -> Any:
        """Return the generalised forces; with a base pose (W, Wdot, Wddot) also the wrench on the base."""
        n = len(self.chain)
        still = matrix(np.zeros((4, 4)))
        start = (matrix(np.eye(4)), still, still) if base is None else base
        W: list[tuple] = []
        local: list[np.ndarray] = []
        for i, parent in enumerate(self.chain.parents):
            A = self.joint(i, q[i])
            dA = A @ self.X[i]
            ddA = dA @ self.X[i]
            W0, W1, W2 = start if parent < 0 else W[parent]
            W.append(
                (
                    W0 @ A,
                    W1 @ A + W0 @ dA * qd[i],
                    W2 @ A + 2 * (W1 @ dA) * qd[i] + W0 @ ddA * qd[i] ** 2 + W0 @ dA * qdd[i],
                )
            )
            local.append(A)
        D = [self.loaded(self.J[i], W[i]) for i in range(n)]
        D_0: Any = None if base is None else self.loaded(self.J_0, start)
        out: list[Any] = [None] * n
        for i in reversed(range(n)):
            out[i] = np.trace(W[i][0] @ self.X[i] @ D[i])
            parent = self.chain.parents[i]
            if parent >= 0:
                D[parent] = D[parent] + local[i] @ D[i]
            elif base is not None:
                D_0 = D_0 + local[i] @ D[i]
        if base is None:
            return out
        return out, [np.trace(start[0] @ twist_hat(k) @ D_0) for k in range(6)]

    def loaded(self, J: Any, W: Any) -> np.ndarray:
        """Return J (Wddot - gravity)^T: a mass point at r has the acceleration Wddot r - g relative to free fall."""
        pull = matrix(np.zeros((4, 4)))
        pull[:, 3] = self.g
        return J @ (W[2] - pull).T


def twist_hat(k: int) -> Any:
    """Return the 4x4 form of unit twist k: linear x, y, z, then angular x, y, z."""
    hat = np.zeros((4, 4))
    if k < 3:
        hat[k, 3] = 1
    else:
        a, b = [(1, 2), (2, 0), (0, 1)][k - 3]
        hat[b, a], hat[a, b] = 1, -1
    return matrix(hat)


def derivatives(function: Callable[..., Any], t: float, order: Any) -> list[Any]:
    """Return the derivatives 0..order of a vector function of time, by central differences, as a list of lists."""
    half = STEP / 2
    nodes = {k: np.array(function(t + k * half), object) for k in range(-order, order + 1)}
    return [
        list(sum((-1) ** k * mp.binomial(m, k) * nodes[m - 2 * k] for k in range(m + 1)) / STEP**m)
        for m in range(order + 1)
    ]


def as_floats(rows: Any) -> np.ndarray:
    """Return mpmath numbers as an array of floats."""
    return np.array([[float(v) for v in row] for row in rows])
