"""Contact forces of the standing legs that carry a given wrench, by non-negative least squares.

    minimise  | W (S_i A_i f_i - F) |^2 + r |f|^2 / weight      over f_i in the friction pyramid of a standing leg

with `A_i = [I; [p_i]] R^T` the map from a force at tip i (world axes) to a wrench on the body (body axes, force first).
The pyramid is spanned by four edges, so that `f_i = E x_i` with `x_i >= 0`: solved by SciPy's NNLS (Lawson and Hanson),
about 20 us for six legs.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from hexapod_dynamics.errors import HexapodError


class FootForces:
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
        self._matrix = np.zeros((6 + 3 * legs, 4 * legs))
        self._right = np.zeros(6 + 3 * legs)
        self._forces = np.zeros((legs, 3))
        self._scale = np.r_[1.0, 1.0, 1.0, np.full(3, 1.0 / length)]

    def solve(self, wrench: np.ndarray, rotation: np.ndarray, tips: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Compute the foot forces whose sum is nearest to the wrench on the body.

        Args:
            wrench: (6,) force [N] and moment [N m] about the body frame's origin, body axes.
            rotation: (3, 3) world <- body.
            tips: (legs, 3) foot positions, body axes [m].
            load: (legs,) load capacity of each foot, 0 (in the air) to 1.

        Returns:
            (legs, 3) forces of the ground on the feet, world axes [N]; zero for feet in the air.

        Raises HexapodError if the solver fails.

        """
        matrix, legs = self._matrix, self.legs
        edges_body = rotation.T @ self.edges  # (3, 4)
        share = np.sqrt(np.clip(load, 0.0, 1.0))
        top = matrix[:6].reshape(6, legs, 4)
        top[:3] = edges_body[:, None, :] * share[None, :, None]
        top[3:] = np.cross(tips[:, None, :], edges_body.T[None]).transpose(2, 0, 1) * share[None, :, None] / self.length
        for leg in range(legs):
            matrix[6 + 3 * leg : 9 + 3 * leg, 4 * leg : 4 * leg + 4] = self.regularisation * self.edges
        np.multiply(wrench, self._scale, out=self._right[:6])
        if not share.any():
            self._forces[:] = 0.0
            return self._forces
        try:
            scaled, _ = nnls(matrix, self._right)
        except (RuntimeError, ValueError) as error:  # too many iterations (scipy 1.12 to 1.15); not finite
            raise HexapodError(f"no foot forces found for the wrench {wrench.tolist()}: {error}") from error
        # x = share * scaled: the cost of a foot's force grows as 1/load, so a foot that lifts off is unloaded smoothly.
        np.matmul(scaled.reshape(legs, 4) * share[:, None], self.edges.T, out=self._forces)
        return self._forces
