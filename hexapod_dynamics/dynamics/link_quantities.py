"""Calls of the whole-body model about links, points, momentum and energy.

Conventions as in whole_body.py: nu = (v, w, qdot) with the body twist in base_link axes; rotation and position are
those of base_link in the world. A link's axes have x along the link, their origin at its start; a point is given in
them. Units are SI; everything raises DynamicsError for what is missing, misshapen or not finite.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hexapod_dynamics.dynamics import link_entry_points
from hexapod_dynamics.dynamics.checks import as_array
from hexapod_dynamics.dynamics.entry_points import is_rotation
from hexapod_dynamics.dynamics.link_entry_points import END, FRAME, LINK_COLUMNS, MASS, MOMENT, SCREW, START
from hexapod_dynamics.dynamics.model_core import ModelCore
from hexapod_dynamics.dynamics.native import builtin
from hexapod_dynamics.dynamics.selection import Selection
from hexapod_dynamics.errors import DynamicsError


class LinkQuantities(ModelCore):
    """Calls that WholeBodyModel inherits."""

    @cached_property
    def _frames(self):
        return builtin(link_entry_points.frames)

    @cached_property
    def _momentum(self):
        return builtin(link_entry_points.momentum)

    @cached_property
    def _links(self) -> dict[str, int]:
        """Place of each link among all joints: {"LF.tibia": 2}."""
        names = [f"{leg.name}.{link}" for leg in self.robot.legs for link in leg.link_names]
        return {name: index for index, name in enumerate(names)}

    # ---- where links and points are ------------------------------------------------------------------------------

    def link_poses(self, rotation, position, q, morphology=None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Poses of all existing links in the world: {"LF.tibia": (R (3, 3), p (3,) [m]), ...}."""
        known = self._select(morphology)
        R, p, table = self._rotation(rotation), self._vector("p", position), self._table(q, known)
        axes = R @ table[:, FRAME : FRAME + 9].reshape(-1, 3, 3) @ self._link_axes.reshape(-1, 3, 3)
        starts = p + table[:, START:END] @ R.T
        exists = known.morphology.existing_mask
        return {name: (axes[j], starts[j]) for name, j in self._links.items() if exists[j]}

    def point_jacobian(self, link: str, point, q, morphology=None) -> np.ndarray:
        """Jacobian (3, 6+n) of a point (3,) [m] of a link: its velocity in base_link axes is J nu."""
        known = self._select(morphology)
        return self.point_terms(link, point, self._table(q, known), known)[1]

    def point_acceleration_bias(self, link: str, point, q, nu, morphology=None) -> np.ndarray:
        """How the point's Jacobian changes, Jdot nu (3,) [m/s^2], base_link axes.

        The point's acceleration in the world, written in base_link axes, is J nudot + Jdot nu + w x (J nu).
        """
        known = self._select(morphology)
        nu, table = self._vector("nu", nu, known.size), self._table(q, known)
        return self._bias(link, point, table, nu, known)[0]

    # ---- mass, momentum, energy ------------------------------------------------------------------------------------

    def total_mass(self, morphology=None) -> float:
        """Mass [kg] of the body and of all links that exist."""
        masses = [link.mass for leg in self.robot.legs for link in leg.links]
        return float(self.robot.body.mass + self._select(morphology).morphology.table[0] @ masses)

    def center_of_mass(self, rotation, position, q, morphology=None) -> np.ndarray:
        """Centre of mass (3,) [m] in the world."""
        known = self._select(morphology)
        table = self._table(q, known)
        return self._vector("p", position) + self._rotation(rotation) @ self._center(table)

    def centroidal_momentum(self, rotation, q, nu, morphology=None) -> np.ndarray:
        """Momentum (6,): linear [kg m/s], then angular about the centre of mass [kg m^2/s], world axes."""
        known = self._select(morphology)
        R, P = self._rotation(rotation), self._generalised_momentum(q, nu, known)[:6]
        arm = self._center(self._table(q, known))
        return np.concatenate([R @ P[:3], R @ (P[3:] - np.cross(arm, P[:3]))])

    def kinetic_energy(self, q, nu, morphology=None) -> float:
        """Kinetic energy 1/2 nu^T M nu [J]."""
        known = self._select(morphology)
        return 0.5 * float(self._generalised_momentum(q, nu, known) @ np.asarray(nu, float))

    def potential_energy(self, rotation, position, q, morphology=None) -> float:
        """Potential energy [J] of gravity, zero for a centre of mass at height 0."""
        height = self.center_of_mass(rotation, position, q, morphology)[2]
        return self.robot.gravity * self.total_mass(morphology) * float(height)

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _table(self, q, known: Selection) -> np.ndarray:
        out = np.empty((self.robot.joint_count, LINK_COLUMNS))
        if self._frames(known.memory, q, out):
            self._checked(self._frames, known, (("q", q),), out)
        return out

    def _generalised_momentum(self, q, nu, known: Selection) -> np.ndarray:
        out = np.empty(known.size)
        if self._momentum(known.memory, q, nu, out):
            self._checked(self._momentum, known, (("q", q), ("nu", nu)), out)
        return out

    def _center(self, table) -> np.ndarray:
        """Centre of mass in the body frame."""
        return table[:, MOMENT:].sum(axis=0) / (self.robot.body.mass + table[:, MASS].sum())

    def point_terms(self, link, point, table, known: Selection):
        """Place (3,) of a point in the body frame, its Jacobian (3, 6+n), and the joints that move it."""
        j = self._links.get(link) if isinstance(link, str) else None
        if j is None:
            raise DynamicsError(f"no link {link!r}; the links are {', '.join(self._links)}")
        if not known.morphology.existing_mask[j]:
            raise DynamicsError(f"link {link} is missing in this morphology ({known.morphology.describe()})")
        frame = table[j, FRAME:START].reshape(3, 3) @ self._link_axes[j].reshape(3, 3)
        at = table[j, START:END] + frame @ self._vector("point", point)
        moving = known.morphology.moving_mask
        first = self.robot.leg_joints(link.partition(".")[0]).start
        inner = [k for k in range(first, j + 1) if moving[k]]
        start = 6 + int(np.count_nonzero(moving[:first]))
        J = np.zeros((3, known.size))
        J[:, :3] = np.eye(3)
        J[:, 3:6] = [[0.0, at[2], -at[1]], [-at[2], 0.0, at[0]], [at[1], -at[0], 0.0]]
        screws = table[inner, SCREW:MASS]
        J[:, start : start + len(inner)] = (screws[:, :3] + np.cross(screws[:, 3:], at)).T
        return at, J, screws, slice(start, start + len(inner))

    def _bias(self, link, point, table, nu, known: Selection):
        """Jdot nu (3,) and J (3, 6+n) of a point."""
        at, J, screws, columns = self.point_terms(link, point, table, known)
        rates = nu[columns]
        slide = J[:, columns] @ rates  # of the point, seen from the body
        bias = np.cross(nu[3:6], slide)
        before = np.zeros(6)  # twist of the joints further in, seen from the body
        for screw, rate in zip(screws, rates, strict=True):
            v, w = screw[:3], screw[3:]
            v_rate = np.cross(before[3:], v) + np.cross(before[:3], w)
            bias = bias + rate * (v_rate + np.cross(np.cross(before[3:], w), at) + np.cross(w, slide))
            before = before + rate * screw
        return bias, J

    def _vector(self, name, value, size=3) -> np.ndarray:
        return as_array(name, value, (size,))

    def _rotation(self, value) -> np.ndarray:
        rotation = as_array("R", value, (3, 3))
        if not is_rotation(rotation):
            raise DynamicsError(f"R: {rotation.tolist()} is not a rotation matrix")
        return rotation
