"""The weight of a load on the body, in the model of a robot: an external wrench that depends on the body's
rotation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.simulation import Predictor


class CarriedLoad:
    """mass [kg], moments (3,) [kg m]: mass times centre in base_link. Its inertia is neglected, because it moves
    slowly.
    """

    def __init__(self, model: Predictor, gravity: float) -> None:
        self._model, self._gravity = model, gravity
        self.mass, self.moments = 0.0, (0.0, 0.0, 0.0)
        self._wrench, self._acts = np.zeros(6), False

    def set(self, mass: float, moments: npt.ArrayLike) -> None:
        """Set the load; with a mass of 0 kg and zero moments there is none."""
        x, y, z = np.asarray(moments, float).tolist()
        self.mass, self.moments = mass, (x, y, z)

    def apply(self) -> None:
        """Apply the weight to the model at the present rotation of the body."""
        carries = self.mass != 0.0 or self.moments != (0.0, 0.0, 0.0)
        if not (carries or self._acts):
            return
        rotation, g, wrench = self._model.rotation, self._gravity, self._wrench
        ux, uy, uz = -g * rotation.item(2, 0), -g * rotation.item(2, 1), -g * rotation.item(2, 2)
        x, y, z = self.moments
        wrench[0], wrench[1], wrench[2] = self.mass * ux, self.mass * uy, self.mass * uz
        wrench[3], wrench[4], wrench[5] = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
        self._model.push(wrench)
        self._acts = carries
