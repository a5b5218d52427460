"""Variance of an intact robot's residuals about its baseline, a measure of the roughness of its ground."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS
from hexapod_dynamics.robot import Robot


def kinds_of(robot: Robot) -> np.ndarray:
    """Kind of each of the n + 3 features: joints by their link, then roll and pitch, then yaw rate."""
    links = [link for leg in robot.legs for link in range(len(leg.links))]
    return np.array([*links, max(links) + 1, max(links) + 1, max(links) + 2])


@dataclass(frozen=True)
class Scatter:
    """Sums of squared residuals less the noise of the readings, with weights that decay with age.

    kinds (f,): features of one kind have one variance; squares (f,): sums [rad^2], [rad^2/s^2]; weight: number of
    slices; prior_slices: weight of a prior variance as a number of slices.
    """

    kinds: np.ndarray
    squares: np.ndarray
    weight: float
    prior_slices: float = LIMITS.scatter_windows

    def with_slice(self, error: np.ndarray, noise: np.ndarray, forget: float) -> Scatter:
        """Return the Scatter with one more slice: error (f,), NaN where nothing was measured; noise (f,): standard
        deviations; forget: factor of all older slices.
        """
        seen = np.isfinite(error) & np.isfinite(noise)
        usual = self.squares / max(self.weight, 1.0)
        fresh = np.where(seen, np.where(seen, error, 0.0) ** 2 - np.where(seen, noise, 0.0) ** 2, usual)
        return replace(self, squares=forget * self.squares + fresh, weight=forget * self.weight + 1.0)

    def variance(self, prior: np.ndarray) -> np.ndarray:
        """Return the variances (f,), one for each kind: the weighted mean of the measured ones and of prior (f,),
        which has the weight `prior_slices`.
        """
        few = self.prior_slices
        total = (few * self._mean(prior) + self._mean(self.squares)) / (few + self.weight)
        return np.maximum(total, 0.0)[self.kinds]

    def share(self, prior: np.ndarray) -> np.ndarray:
        """`variance` as a share (f,) of the mean of prior (f,) over each kind."""
        return self.variance(prior) / self._mean(prior)[self.kinds]

    def _mean(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.kinds, values) / np.bincount(self.kinds)
