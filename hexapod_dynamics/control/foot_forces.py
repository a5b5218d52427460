"""Contact forces of the standing legs that carry a given wrench, by non-negative least squares.

    minimise  | W (S_i A_i f_i - F) |^2 + r |f|^2 / weight      over f_i in the friction pyramid of a standing leg

with `A_i = [I; [p_i]] R^T` the map from a force at tip i (world axes) to a wrench on the body (body axes, force first).
The pyramid is spanned by four edges, so that `f_i = E x_i` with `x_i >= 0`: non-negative least squares (Lawson and
Hanson), compiled: core/foot_forces.h.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.core import _core

ROUNDS = 3  # changes of the set of edges in use, for each edge; Lawson and Hanson need about one


class FootForces(_core.FootForces):
    """Distributes a body wrench over the standing feet.

    Args:
        legs: number of legs.
        friction: half opening of the friction pyramid (its edges lie in the cone), dimensionless.
        length: converts moments to forces in the residual [m]; about the feet's distance from the body.
        regularisation: cost of a foot force relative to an error of the wrench, dimensionless.

    """

    def __init__(self, legs: int, *, friction: float = 0.6, length: float = 0.15, regularisation: float = 1e-2) -> None:
        self.legs, self.length, self.regularisation = legs, length, regularisation
        side = friction / np.sqrt(2.0)
        self.edges = np.array([[side, side, -side, -side], [side, -side, side, -side], [1.0, 1.0, 1.0, 1.0]])
        super().__init__(self.edges, legs, length, regularisation, ROUNDS * self.edges.shape[1] * legs)
