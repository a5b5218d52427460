"""Posterior probability of each hypothesis, from the features, the bank's predictions and the covariance of model
errors.

With x the features of K slices (measured less modelled, less the baseline), mu_h,k what hypothesis h predicts when it
happened at the beginning of slice k (0 before), and S the covariance,

    L(h, k) = (mu' S^-1 x - mu' S^-1 mu / 2) / c,   P(h) ~ prior sum_k exp L(h, k),   P(declared) ~ 1

c is the smallest chi-square per feature of all hypotheses, but at least _SHARPEST: where no hypothesis fits well, the
posterior is flat. S = rough + static + diagonal: sample covariances of two halves of an ensemble of healthy robots, the
reading's noise, a floor for what the simulator does not model, and a share of the ensemble's variances, because the
ensemble is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

_SHARE, _SHARPEST = 0.3, 0.4
_FLOOR_JOINT, _FLOOR_TILT, _FLOOR_TURN = 3.0e-3, 2.0e-3, 8e-3  # [rad], [rad], [rad/s]


@dataclass(frozen=True)
class Posterior:
    """Of H hypotheses: probability (H,), log odds against the declared state (H,), slice of the onset (H,).

    declared: probability that nothing has happened. misfit (H,): chi-square per feature of each hypothesis, at its
    best onset; misfit_declared: that of the declared state. worst (H,): the largest normalised residual it leaves.
    """

    probability: np.ndarray
    log_odds: np.ndarray
    onset: np.ndarray
    declared: float
    misfit: np.ndarray
    misfit_declared: float


def covariance(static: np.ndarray, rough: np.ndarray, noise: np.ndarray, known: np.ndarray, joints: int) -> np.ndarray:
    """Covariance (F, F) of features (K, f), flat: static, rough (N, K, f); noise (K, f); known (f,): share of the
    static uncertainty that the baseline has left.
    """
    size = noise.size
    static = (static * known).reshape(len(static), size)
    rough = rough.reshape(len(rough), size)
    total = static.T @ static / len(static) + rough.T @ rough / len(rough)
    floor = np.full(noise.shape, _FLOOR_JOINT)
    floor[:, joints:] = _FLOOR_TILT
    floor[:, -1] = _FLOOR_TURN
    total[np.diag_indices(size)] = (1.0 + _SHARE) * total.diagonal() + noise.ravel() ** 2 + floor.ravel() ** 2
    return total


def posterior_of(x: np.ndarray, noise: np.ndarray, cov: np.ndarray, deviations: np.ndarray, prior: Any) -> Posterior:
    """Return the Posterior for features x (K, f) with covariance cov (K f, K f); deviations (H, K, f); prior: log odds
    (H,).

    Where noise (K, f) is infinite nothing was measured.
    """
    count, slices, _ = deviations.shape
    seen = np.isfinite(noise).ravel()
    factor = np.linalg.cholesky(cov[np.ix_(seen, seen)])
    z = solve_triangular(factor, x.ravel()[seen], lower=True, check_finite=False)
    # Predicted features of every hypothesis and onset: zero before the onset.
    started = np.tril(np.ones((slices, slices))).T  # [onset, slice]
    means = (deviations[:, None] * started[None, :, :, None]).reshape(count * slices, -1)[:, seen]
    w = solve_triangular(factor, means.T, lower=True, check_finite=False)
    square = (w * w).sum(axis=0)
    gain = (w.T @ z - 0.5 * square).reshape(count, slices)
    total, n = float(z @ z), max(1, z.size)
    misfit = (total - 2.0 * gain) / n
    temper = max(_SHARPEST, min(total / n, float(misfit.min())))
    onset = gain.argmax(axis=1)
    best = gain.max(axis=1) / temper
    log_odds = best + np.log(np.exp(gain / temper - best[:, None]).mean(axis=1)) + prior
    top = max(0.0, float(log_odds.max()))
    weights = np.exp(log_odds - top)
    whole = weights.sum() + np.exp(-top)
    return Posterior(weights / whole, log_odds, onset, float(np.exp(-top) / whole), misfit.min(axis=1), total / n)
