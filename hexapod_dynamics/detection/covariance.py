"""Covariance of an intact robot's features that model, baseline and ground do not explain.

    S = s (U C_static U + R C_rough R + diagonal) + M

C_static, C_rough: sample covariances of the two halves of an ensemble of healthy robots; U: uncertainty of the
Baseline for each feature, 0..1; R^2: the variance of this robot's own healthy residuals on its own ground as a
share of that in C_rough, so that a lost foot on smooth ground is not compared with 8 mm of roughness. The diagonal
contains the noise of the readings, a least value for effects that are not simulated, and a share of the ensemble's
variances, because the ensemble is small. M: uncertainty of the change of the declared robot's model by a damage
that was found; it is the same as when this damage was a hypothesis (posterior.py). s: scale below 1, because with
s = 1 healthy robots on 8 mm of roughness, with pushes, have a chi-square per feature of only 0.4 to 0.5.
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
    unknown (K, f): U; scatter: of the healthy robot; moved (K, f): change of the model by a damage that was found.
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
