"""What acts on the model from outside: the slope of the ground, and the load that the body carries.

GroundSlope learns the slope of the ground from mean tilts of the body that the joints do not explain.

CarriedLoad is the weight of a load on the body, in the model of a robot: an external wrench that depends on the body's
rotation.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.simulation import Predictor

# A longer time [s] between two attitudes comes from a stall, after which model and robot differ by the missed motion:
# no slope is learnt from it.
EVEN = 0.05
RECALL_RATE = 0.1  # [rad/s] at which the ground turns back after a change of the morphology


class GroundSlope:
    """Estimates the ground's slope from tilts that the model does not explain; tilts the model's ground plane.

    A loss is declared late, and the tilt of the body between the loss and its declaration is no slope: the ground turns
    back to the slope of four periods before. On its belly (the body's underside nearer to the ground than 3 cm), while
    it stands up, and for 4 s after a change of the morphology, the body's tilt is not that of a slope under the feet.

    Args:
        model: the model whose ground plane is tilted.
        underside: distance of the body's underside from base_link [m].
    """

    def __init__(self, model: Predictor, underside: float) -> None:
        self._model, self._low = model, underside + 0.03
        self._low_at = -np.inf  # [s] last time at which nothing could be learnt
        self._slopes: deque[np.ndarray] = deque(maxlen=4)
        self._recalled: np.ndarray | None = None  # the slope to which the ground turns back

    def clear(self) -> None:
        """Delete the stored slopes."""
        self._slopes.clear()
        self._recalled = None

    def store(self) -> None:
        """Store the present slope, once a period."""
        self._slopes.append(self._model.slope.copy())

    def recall(self, time: float) -> None:
        """Let the ground turn back to the oldest stored slope: the morphology has changed."""
        self._recalled = self._slopes[0] if self._slopes else None
        self._low_at = time

    def learn(self, time: float, dt: float, tilt: list[float], standing: bool) -> None:
        """Turn the ground.

        Args:
            time: [s].
            dt: time since the previous attitude [s].
            tilt: measured less modelled attitude about world x and y [rad].
            standing: False while the servos execute no commands.
        """
        model = self._model
        if model.height < self._low or not standing:
            self._low_at = time
        if not 0.0 < dt < EVEN:
            return
        if self._recalled is not None:
            way = self._recalled - model.slope
            model.tilt_ground_to(model.slope + np.minimum(np.maximum(way, -RECALL_RATE * dt), RECALL_RATE * dt))
            if np.abs(way).max() < RECALL_RATE * dt:
                self._recalled = None
        if time - self._low_at > 4.0:
            # Smaller tilts [rad] have other causes: the IMU's mounting and offsets, play of joints.
            unexplained = [each - _limit(each, 0.005) for each in tilt]
            if any(unexplained):  # learnt within a second, no faster than 1 degree a second
                model.tilt_ground([dt * _limit(each, 0.0175) for each in unexplained])


def _limit(value: float, most: float) -> float:
    """Return the value limited to -most..most."""
    return max(-most, min(most, value))


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

    def wrench(self) -> np.ndarray:
        """Return the weight (6,) on the body, force first [N, N m], at its present rotation."""
        rotation, g, wrench = self._model.rotation, self._gravity, self._wrench
        ux, uy, uz = -g * rotation.item(2, 0), -g * rotation.item(2, 1), -g * rotation.item(2, 2)
        x, y, z = self.moments
        wrench[0], wrench[1], wrench[2] = self.mass * ux, self.mass * uy, self.mass * uz
        wrench[3], wrench[4], wrench[5] = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
        return wrench

    def apply(self) -> None:
        """Apply the weight to the model."""
        carries = self.mass != 0.0 or self.moments != (0.0, 0.0, 0.0)
        if carries or self._acts:
            self._model.push(self.wrench())
            self._acts = carries
