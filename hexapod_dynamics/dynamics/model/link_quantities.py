"""Calls of the whole-body model about links, points, momentum and energy.

Conventions as in whole_body.py: nu = (v, w, qdot) with the body twist in base_link axes; rotation and position are
those of base_link in the world. A link's axes have x along the link, their origin at its start; a point is given
in these axes. Units are SI; everything raises DynamicsError for missing parts, wrong shapes and values that are
not finite.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.dynamics.model.model_core import ModelCore
from hexapod_dynamics.dynamics.model.selection import Selection
from hexapod_dynamics.errors import DynamicsError


class LinkQuantities(ModelCore):
    """Calls that WholeBodyModel inherits."""

    # ---- where links and points are ------------------------------------------------------------------------------

    def link_poses(self, rotation, position, q, morphology=None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Poses of all existing links in the world: {"LF.tibia": (R (3, 3), p (3,) [m]), ...}."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        names = known.links or self._name_links(known)
        poses = self._poses(known.memory, rotation, position, q, names)
        if poses is None:
            poses = self._checked(self._poses, known, (("R", rotation), ("p", position), ("q", q)), names)
        return poses

    def point_jacobian(self, link: str, point, q, morphology=None) -> np.ndarray:
        """Jacobian (3, 6+n) of a point (3,) [m] of a link: its velocity in base_link axes is J nu."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        call = self._point_jacobian  # as in tip_jacobian
        try:
            J = call(known.memory, q, point, self._links[link])
        except (KeyError, TypeError):
            J = None
        if J is None:
            at = self._link_index(link, known)
            J = self._checked(self._point_jacobian, known, (("q", q), ("point", point)), at)
        return J

    def point_acceleration_bias(self, link: str, point, q, nu, morphology=None) -> np.ndarray:
        """Return Jdot nu (3,) [m/s^2], the part of the point's acceleration from the change of its Jacobian, in
        base_link axes.

        The point's acceleration in the world, written in base_link axes, is J nudot + Jdot nu + w x (J nu).
        """
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        try:
            bias = self._point_bias(known.memory, q, nu, point, self._links[link])
        except (KeyError, TypeError):
            bias = None
        if bias is None:
            at = self._link_index(link, known)
            bias = self._checked(self._point_bias, known, (("q", q), ("nu", nu), ("point", point)), at)
        return bias

    # ---- mass, momentum, energy ------------------------------------------------------------------------------------

    def total_mass(self, morphology=None) -> float:
        """Mass [kg] of the body and of all links that exist."""
        if morphology is None:
            return self._whole_mass
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        return known.mass or self._weigh(known)

    def center_of_mass(self, rotation, position, q, morphology=None) -> np.ndarray:
        """Centre of mass (3,) [m] in the world."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._center(known.memory, rotation, position, q)
        if out is None:
            out = self._checked(self._center, known, (("R", rotation), ("p", position), ("q", q)))
        return out

    def centroidal_momentum(self, rotation, q, nu, morphology=None) -> np.ndarray:
        """Momentum (6,): linear [kg m/s], then angular about the centre of mass [kg m^2/s], world axes."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        out = self._centroidal_momentum(known.memory, rotation, q, nu)
        if out is None:
            out = self._checked(self._centroidal_momentum, known, (("R", rotation), ("q", q), ("nu", nu)))
        return out

    def kinetic_energy(self, q, nu, morphology=None) -> float:
        """Kinetic energy 1/2 nu^T M nu [J]."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        energy = self._kinetic_energy(known.memory, q, nu)
        return self._checked(self._kinetic_energy, known, (("q", q), ("nu", nu))) if energy is None else energy

    def potential_energy(self, rotation, position, q, morphology=None) -> float:
        """Potential energy [J] of gravity, zero for a centre of mass at height 0."""
        known = self._known
        if morphology is not known.given:
            known = self._select(morphology)
        energy = self._potential_energy(known.memory, rotation, position, q)
        if energy is None:
            energy = self._checked(self._potential_energy, known, (("R", rotation), ("p", position), ("q", q)))
        return energy

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _name_links(self, known: Selection) -> tuple[str, ...]:
        exists = known.morphology.existing_mask
        known.links = tuple(name for name, link in self._links.items() if exists[link[2]])
        return known.links

    def _weigh(self, known: Selection) -> float:
        known.mass = float(self.robot.body.mass + known.morphology.table[0] @ self._link_masses)
        return known.mass

    def _link_index(self, link, known: Selection) -> np.ndarray:
        """Return an existing link in the form for the compiled functions; DynamicsError if there is none."""
        index = self._links.get(link) if isinstance(link, str) else None
        if index is None:
            raise DynamicsError(f"no link {link!r}; the links are {', '.join(self._links)}")
        if not known.morphology.existing_mask[index[2]]:
            raise DynamicsError(f"link {link} is missing in this morphology ({known.morphology.describe()})")
        return index
