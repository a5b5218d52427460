"""The paper's fast form of a leg: constant matrices times a vector of products of sines and cosines.

Farghdani & Chhabra 2025, section V, lemma 4 and equations (52)-(63). Every entry of a leg's mass blocks is of
order at most two in the sine and cosine of each revolute joint, hence a linear combination of products of

    1, cos q_k, sin q_k, cos 2q_k, sin 2q_k        one factor for each joint k,

5^n independent functions for n joints. There are 6^n plain monomials of order at most two in each joint (s^2, sc,
c^2, s, c, 1), which are not independent because s^2 + c^2 = 1; in the paper the vector has 6, 30 and 140 entries
for one, two and three joints, which is (2n+1)!/(n!)^2. The number of functions that a leg really needs is the rank
of its coefficients, `independent`. This module exists to check that statement and to compare this form with the
traced one, which the model uses.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.closed_form import LegTerms, leg_constants
from hexapod_dynamics.robot import Leg, Morphology, Robot

FUNCTIONS = 5  # number of functions of one joint
PAPER_BASIS = {1: 6, 2: 30, 3: 140}
_ANGLES = 2 * np.pi * np.arange(FUNCTIONS) / FUNCTIONS


def _functions(angle: float) -> np.ndarray:
    return np.array([1.0, np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])


def _function_rates(angle: float) -> np.ndarray:
    return np.array([0.0, -np.sin(angle), np.cos(angle), -2 * np.sin(2 * angle), 2 * np.cos(2 * angle)])


class TrigonometricLeg:
    """A leg's M_00, M_0i, M_ii and screws in its mount frame as coefficients times products of sines and cosines."""

    def __init__(self, robot: Robot, leg: Leg) -> None:
        if any(joint.kind != "revolute" for joint in leg.joints):
            raise DynamicsError(
                f"leg {leg.name}: lemma 4 holds for revolute joints; its joints are "
                + ", ".join(joint.kind for joint in leg.joints)
            )
        at_origin = dataclasses.replace(leg, mount_rotation=np.eye(3), mount_position=np.zeros(3))
        alone = dataclasses.replace(robot, legs=(at_origin,))
        self._constants = leg_constants(Morphology.whole(alone), at_origin)
        self.joint_count = n = len(leg.joints)
        samples = [self.direct(q) for q in np.stack(np.meshgrid(*[_ANGLES] * n, indexing="ij"), -1).reshape(-1, n)]
        values = np.array(samples).reshape(*[FUNCTIONS] * n, -1)
        inverse = np.linalg.inv(np.array([_functions(angle) for angle in _ANGLES]))
        # five equally spaced angles determine the coefficients of the five functions of each joint
        for axis in range(n):
            values = np.moveaxis(np.tensordot(inverse, values, axes=(1, axis)), 0, axis)
        coefficients = values.reshape(FUNCTIONS**n, -1).T
        coefficients[np.abs(coefficients) < 1e-14 * np.abs(coefficients).max(axis=1, keepdims=True)] = 0.0
        self.coefficients = coefficients  # (entries, 5^n), (54)

    def direct(self, q: np.ndarray) -> np.ndarray:
        """All entries from the closed form: M_00 lower triangle, M_0i, M_ii lower triangle, J."""
        terms = LegTerms(self._constants, np.asarray(q, dtype=float))
        return self._flat(*terms.mass(), terms.J)

    def direct_derivative(self, q: np.ndarray, joint: int) -> np.ndarray:
        """The same entries' derivatives by one joint, from Lemma 3."""
        terms = LegTerms(self._constants, np.asarray(q, dtype=float))
        return self._flat(*terms.dmass(joint), terms.dJ(self.joint_count - 1, joint))

    def _flat(self, M00: np.ndarray, M0i: np.ndarray, Mii: np.ndarray, J: np.ndarray) -> np.ndarray:
        lower = np.tril_indices(6), np.tril_indices(len(Mii))
        return np.concatenate([M00[lower[0]], M0i.ravel(), Mii[lower[1]], J.ravel()])

    def vector(self, q: np.ndarray, derivative: int | None = None) -> np.ndarray:
        """The 5^n products (55), or their derivatives by one joint; only this vector is differentiated, not the
        matrix.
        """
        product = np.ones(1)
        for k, angle in enumerate(q):
            product = np.outer(product, (_function_rates if k == derivative else _functions)(angle)).ravel()
        return product

    def evaluate(self, q: np.ndarray, derivative: int | None = None) -> np.ndarray:
        """All entries (54), or their derivatives by one joint (61)-(63)."""
        return self.coefficients @ self.vector(q, derivative)

    @property
    def independent(self) -> int:
        """Number of independent functions of which the entries consist."""
        scale = np.abs(self.coefficients).max(axis=1, keepdims=True)
        scaled = self.coefficients / np.where(scale == 0, 1.0, scale)
        return int(np.linalg.matrix_rank(scaled, tol=1e-9))

    def multiplications(self) -> int:
        """Number of products to evaluate all entries once: those for the used functions of the vector, and one for
        each coefficient.

        The derivatives by each joint, which the Coriolis terms need, cost the same number again for each joint.
        """
        used = int(np.count_nonzero(np.any(self.coefficients, axis=0)))
        return (self.joint_count - 1) * used + int(np.count_nonzero(self.coefficients))
