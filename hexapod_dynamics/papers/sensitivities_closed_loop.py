"""Closed loops by a cut joint (Xiang, Arora, Abdel-Malek 2008, eq. 38): a force at the cut, a constraint on positions.

The tree that remains after the cut is an ordinary `Chain`. The force that acted through the joint becomes an
external force on both sides, and the two points must stay together: g(q) = A_a r_a - A_b r_b = 0 (38b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.chain import BASE, Chain, refuse
from hexapod_dynamics.papers.chain.sensitivities import (
    ExternalLoad,
    Sensitivities,
    inverse_dynamics,
    point_sensitivity,
    sensitivities,
)
from hexapod_dynamics.se3 import Ad, ad


class CutJoint(NamedTuple):
    """A cut joint: it held point (3,) of `body` to point (3,) of `other` (-1: the base), each in its own frame."""

    body: int
    point: tuple
    other: int = BASE
    other_point: tuple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ClosedLoop:
    """A tree whose cut joints hold points together; `passive` joints have no motor."""

    tree: Chain
    cuts: tuple[CutJoint, ...]
    passive: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        refuse(not self.cuts, "a closed loop needs at least one cut joint, none was given")
        n = len(self.tree)
        for cut in self.cuts:
            joins = cut.body != cut.other and 0 <= cut.body < n and BASE <= cut.other < n
            refuse(not joins, f"{cut} joins no two different bodies of the {n} of this tree")
        for joint in self.passive:
            exists = 0 <= joint < n
            refuse(not exists, f"passive joint {joint} does not exist, this tree has 0 to {n - 1}")

    def constraint(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gap g (..., 3L) [m] between the points of every cut, and its Jacobian (..., 3L, n)."""
        gaps, jacobians = [], []
        for cut in self.cuts:
            gap, jacobian = point_sensitivity(self.tree, q, cut.body, cut.point)
            if cut.other == BASE:
                gap = gap - np.asarray(cut.other_point)
            else:
                there, its_jacobian = point_sensitivity(self.tree, q, cut.other, cut.other_point)
                gap, jacobian = gap - there, jacobian - its_jacobian
            gaps.append(gap)
            jacobians.append(jacobian)
        return np.concatenate(gaps, axis=-1), np.concatenate(jacobians, axis=-2)

    def acceleration_bias(self, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
        """Acceleration of the gaps Jdot qdot (3L,) [m/s^2]: loops stay closed where J qddot = -Jdot qdot."""
        q, qdot = self.tree.check_state(q, qdot)
        poses = self.tree.poses(q)
        twists = [np.zeros(6)] * len(self.tree)  # of each body, about the base's origin, base axes
        rates = [np.zeros(6)] * len(self.tree)  # their time derivatives at qddot = 0
        for i, parent in enumerate(self.tree.parents):
            screw = Ad(poses[i]) @ self.tree.screws[i] * qdot[i]
            below, slope = (np.zeros(6), np.zeros(6)) if parent == BASE else (twists[parent], rates[parent])
            twists[i], rates[i] = below + screw, slope + ad(below) @ screw

        def bias(body: int, point: npt.ArrayLike) -> np.ndarray:
            (v, w), (a, b) = np.split(twists[body], 2), np.split(rates[body], 2)
            at = poses[body][:3, :3] @ np.asarray(point, float) + poses[body][:3, 3]
            return a + np.cross(b, at) + np.cross(w, v + np.cross(w, at))

        return np.concatenate(
            [
                bias(cut.body, cut.point) - (0.0 if cut.other == BASE else bias(cut.other, cut.other_point))
                for cut in self.cuts
            ]
        )

    def close_posture(
        self, q: np.ndarray, *, held: Sequence[int] = (), tolerance: float = 1e-12, iterations: int = 50
    ) -> np.ndarray:
        """Return the nearest posture (n,) that closes the loops, by Gauss-Newton from q; joints in `held` keep
        their value.
        """
        q = np.array(self.tree.check_state(q)[0])
        free = [i for i in range(len(self.tree)) if i not in held]
        for _ in range(iterations):
            gap, jacobian = self.constraint(q)
            if np.abs(gap).max() < tolerance:
                return q
            q[free] -= np.linalg.lstsq(jacobian[:, free], gap, rcond=1e-9)[0]
        raise DynamicsError(f"no posture near {q.tolist()} closes the loop: {np.abs(gap).max():.3g} m stay open")

    def loads(self, forces: np.ndarray) -> tuple[ExternalLoad, ...]:
        """External loads of the cut forces (L,3) [N, base axes]: each on its body and, reversed, on the other."""
        loads = []
        for cut, force in zip(self.cuts, np.reshape(forces, (len(self.cuts), 3)), strict=True):
            loads.append(ExternalLoad(cut.body, tuple(force), cut.point))
            if cut.other != BASE:
                loads.append(ExternalLoad(cut.other, tuple(-force), cut.other_point))
        return tuple(loads)

    def inverse_dynamics(self, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torques (n,), zero in passive joints, and cut forces (L,3) of a motion that keeps the loop.

        Of all forces for which the passive joints need no torque, the smallest are returned; DynamicsError if
        there are none.
        """
        gap, jacobian = self.constraint(q)
        fastest, strongest = np.abs(qdot).max(), np.abs(qddot).max()
        open_by = np.abs(gap).max()
        refuse(open_by > 1e-8, f"the loop is open by {open_by:.3g} m, allowed: 1e-8; see close_posture")
        slip = np.abs(jacobian @ np.asarray(qdot, float)).max()
        refuse(slip > 1e-8 * (1 + fastest), f"these rates tear the loop open at {slip:.3g} m/s")
        pull = np.abs(jacobian @ np.asarray(qddot, float) + self.acceleration_bias(q, qdot)).max()
        refuse(
            pull > 1e-8 * (1 + strongest + fastest**2),
            f"these accelerations tear the loop open at {pull:.3g} m/s^2; see acceleration_bias",
        )
        open_torques = inverse_dynamics(self.tree, q, qdot, qddot)
        passive = list(self.passive)
        forces = np.linalg.lstsq(jacobian[:, passive].T, open_torques[passive], rcond=1e-9)[0]
        torques = open_torques - jacobian.T @ forces  # (16) with f at the cuts
        left = np.abs(torques[passive]).max(initial=0)
        refuse(
            left > 1e-8 * (1 + np.abs(open_torques).max()),
            f"{left:.3g} N m stay in the passive joints: these cuts cannot carry the motion",
        )
        torques[passive] = 0.0
        return torques, forces.reshape(-1, 3)

    def sensitivities(
        self, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray, forces: np.ndarray
    ) -> tuple[Sensitivities, np.ndarray]:
        """Derivatives of the torques with the cut forces (L,3) held, and d tau / d forces (..., n, 3L)."""
        _, jacobian = self.constraint(q)
        return sensitivities(self.tree, q, qdot, qddot, self.loads(forces)), -np.swapaxes(jacobian, -1, -2)
