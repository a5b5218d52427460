"""Covariance of an intact robot's features that model, baseline and ground do not explain.

    S = s (U C_static U + R C_rough R + diagonal) + M

C_static, C_rough: sample covariances of the two halves of an ensemble of healthy robots; U: what the Baseline has left
unknown of each feature, 0..1; R^2: the variance of this robot's own healthy residuals on its own ground as a share of
C_rough's, so that a foot that is lost on smooth ground is not compared with 8 mm of roughness. The diagonal has the
noise of the readings, a floor for what the simulator does not model, and a share of the ensemble's variances, because
the ensemble is small. M: how far a damage that was found has moved the declared robot's model is as uncertain as it was
when the damage was a hypothesis (posterior.py). s: healthy robots on 8 mm of roughness leave a chi-square per feature
of 0.4 to 0.5 of the sum, pushes included, so that it is made smaller.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.detection.posterior import spun
from hexapod_dynamics.detection.scatter import Scatter


def covariance(
    static: np.ndarray,
    rough: np.ndarray,
    noise: np.ndarray,
    unknown: np.ndarray,
    scatter: Scatter,
    moved: np.ndarray,
    limits: DetectorLimits = LIMITS,
) -> np.ndarray:
    """Covariance (K f, K f) of features (K, f), flat: static, rough (N, K, f); noise (K, f): standard deviations;
    unknown (K, f): U; scatter: of the healthy robot; moved (K, f): how far a damage that was found has moved the model.
    """
    slices, size = noise.shape[0], noise.size
    ground = np.sqrt(np.clip(scatter.share((rough**2).mean(axis=(0, 1))), limits.smoothest, limits.roughest))
    static = (static * np.maximum(unknown, limits.least_unknown)).reshape(len(static), size)
    rough = (rough * ground).reshape(len(rough), size)
    total = static.T @ static / len(static) + rough.T @ rough / len(rough)
    floor = np.full(noise.shape, limits.floor_joint)
    floor[:, -3:] = limits.floor_tilt, limits.floor_tilt, limits.floor_turn
    variances = (1.0 + limits.small_ensemble) * total.diagonal() + noise.ravel() ** 2 + floor.ravel() ** 2
    total[np.diag_indices(size)] = variances
    total *= limits.covariance_scale
    total[np.diag_indices(size)] += (limits.alone * spun(moved, limits.spin)).ravel() ** 2
    blocks = total.reshape(slices, -1, slices, noise.shape[1])
    for k in range(slices):
        blocks[k, :, k, :] += limits.together**2 * np.outer(moved[k], moved[k])
    return total
