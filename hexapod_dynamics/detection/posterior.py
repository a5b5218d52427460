"""Posterior probability of each hypothesis, from the features, the bank's predictions and the covariance of model
errors.

With x the features of K slices (measured less modelled, less the baseline), mu_h,k what hypothesis h predicts when it
happened within slice k (0 before), and S the covariance of the declared robot,

    L(h, k) = (log N(x; mu_h,k, S + U_h,k) - log N(x; 0, S)) / c,   P(h) ~ prior mean_k exp L(h, k),   P(declared) ~ 1

U is the uncertainty of the prediction itself: how far a robot tips that has lost a foot depends on its servos, load and
ground, so each feature is uncertain by a share of its predicted deviation, and the features of a slice together by
another share. A body that tips over slips on its feet: its yaw rate is uncertain as if it were `spin` times the
predicted tilt. Without U a wrong leg that happens to turn the body at the right rate fits better than the right one.
The size of the tilt is uncertain, its direction is not: roll and pitch in the direction opposite to the prediction
of h contribute nothing to it. In the slice of the onset the damage lasts for an unknown part: mean `onset_part`,
standard deviation `onset_spread`.

c is the smallest chi-square per feature of all hypotheses, but at least `sharpest`: if no hypothesis fits well,
the posterior is flat.

With S + U = L L', log N is a sum over the features, each conditioned on the previous ones. The share of roll and
pitch in the sum is stored: a body that has lost a foot tilts, while hollows and pushes on a healthy robot affect
its joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits

_LARGE = 1e12  # larger than any chi-square
_TILT = slice(-3, -1)  # roll and pitch among the features
_LEAST_LEAN = 1e-6  # [rad]


@dataclass(frozen=True)
class Posterior:
    """Of H hypotheses: probability (H,), log odds against the declared state (H,), slice of the onset (H,).

    declared: probability that nothing has happened. misfit (H,): chi-square per feature of each hypothesis, at its
    best onset; misfit_declared: that of the declared state. slices: number of slices compared. tilt (H,):
    contribution of roll and pitch, given the joints of the same slice, to the log likelihood ratio against the
    declared state. leant (H,): largest lean of the body since the onset as a share of the largest one that the
    hypothesis predicts.
    """

    probability: np.ndarray
    log_odds: np.ndarray
    onset: np.ndarray
    declared: float
    misfit: np.ndarray
    misfit_declared: float
    slices: int
    tilt: np.ndarray
    leant: np.ndarray | None = None


def posterior_of(
    x: np.ndarray,
    noise: np.ndarray,
    cov: np.ndarray,
    deviations: np.ndarray,
    prior: Any,
    limits: DetectorLimits = LIMITS,
) -> Posterior:
    """Return the Posterior for features x (K, f) with covariance cov (K f, K f); deviations (H, K, f); prior: log odds
    (H,).

    Infinite noise (K, f) means that nothing was measured.
    """
    count, slices, _ = deviations.shape
    seen = np.isfinite(noise).ravel()
    piece = np.repeat(np.arange(slices), noise.shape[1])[seen]
    factor = np.linalg.cholesky(cov[np.ix_(seen, seen)])
    z = np.linalg.solve(factor, x.ravel()[seen])  # scipy's triangular solver would be 15 MiB more
    means = deviations.reshape(count, -1)[:, seen]
    alone = (limits.alone * spun(deviations, limits.spin)).reshape(count, -1)[:, seen]
    total, n = float(z @ z), max(1, z.size)
    square, volume, tilts = (np.empty((count, slices)) for _ in range(3))
    of_tilt = np.zeros(noise.shape, bool)
    of_tilt[:, _TILT] = True
    of_tilt = of_tilt.ravel()[seen]
    leans = np.where(np.isfinite(noise), x, 0.0)[:, _TILT]
    for k in range(slices):
        first = int(np.searchsorted(piece, k))
        tail = factor[first:, first:], z[first:], means[:, first:], alone[:, first:], piece[first:]
        terms, growths = _conditional(*tail, k, limits)
        square[:, k], volume[:, k] = terms.sum(axis=1) + z[:first] @ z[:first], growths.sum(axis=1)
        gains = 0.5 * (z[first:] ** 2 - terms - growths)
        tilts[:, k] = gains[:, of_tilt[first:]].sum(axis=1)
        whither = np.einsum("kf,hkf->h", leans[k:], deviations[:, k:, _TILT])
        undue = np.where(whither < 0.0, np.maximum(tilts[:, k], 0.0), 0.0)
        square[:, k] += 2.0 * undue
        tilts[:, k] -= undue
    misfit = square / n
    temper = max(limits.sharpest, min(total / n, float(misfit.min())))
    gain = 0.5 * (total - square - volume) / temper
    onset = gain.argmax(axis=1)
    best = gain.max(axis=1)
    log_odds = best + np.log(np.exp(gain - best[:, None]).mean(axis=1)) + prior
    top = max(0.0, float(log_odds.max()))
    weights = np.exp(log_odds - top)
    whole = weights.sum() + np.exp(-top)
    at_onset = np.arange(count), onset
    declared = float(np.exp(-top) / whole)
    leant = _largest_since(np.hypot(leans[:, 0], leans[:, 1]))[onset]
    leant = leant / np.maximum(np.hypot(deviations[..., -3], deviations[..., -2]).max(axis=1), _LEAST_LEAN)
    misfit, tilt = misfit[at_onset], tilts[at_onset]
    return Posterior(weights / whole, log_odds, onset, declared, misfit, total / n, slices, tilt, leant)


def _largest_since(values: np.ndarray) -> np.ndarray:
    """Return for each of the values (K,) the largest of this and all later ones (K,)."""
    return np.maximum.accumulate(values[::-1])[::-1]


def spun(deviations: np.ndarray, spin: float) -> np.ndarray:
    """Deviations (..., f) with the yaw rate's uncertainty that the tilt causes: spin [1/s] times the tilt."""
    found = deviations.copy()
    found[..., -1] = np.hypot(found[..., -1], spin * np.hypot(deviations[..., -3], deviations[..., -2]))
    return found


def _conditional(
    factor: np.ndarray,
    z: np.ndarray,
    means: np.ndarray,
    alone: np.ndarray,
    piece: np.ndarray,
    onset: int,
    limits: DetectorLimits,
) -> Any:
    """Return the terms of chi-square (H, m) and of the growth of log |S| (H, m) of the m features from the onset on,
    each given those before it.

    factor (m, m): lower right of S's Cholesky factor, so that factor factor' is the covariance given the features
    before; z (m,): their whitened residuals; means (H, m): full predicted deviations; alone (H, m): standard deviation
    of each by itself; piece (m,): slice of each.
    """
    count, m = means.shape
    if m == 0:
        return np.zeros((count, 0)), np.zeros((count, 0))
    # The last row of the Cholesky factor of [[A, r], [r', large]] is inv(L) r: its square is r' inv(A) r.
    joined = np.empty((count, m + 1, m + 1))
    joined[:, :m, :m] = factor @ factor.T
    for k in np.unique(piece):
        at = np.flatnonzero(piece == k)
        block = slice(at[0], at[-1] + 1)
        share = (limits.onset_spread if k == onset else limits.together) * means[:, block]
        joined[:, block, block] += share[:, :, None] * share[:, None, :]
    diagonal = np.arange(m)
    joined[:, diagonal, diagonal] += alone**2
    joined[:, m, :m] = joined[:, :m, m] = factor @ z - np.where(piece == onset, limits.onset_part, 1.0) * means
    joined[:, m, m] = _LARGE
    lower = np.linalg.cholesky(joined)
    growth = np.log(lower[:, diagonal, diagonal]) - np.log(factor[diagonal, diagonal])
    return lower[:, m, :m] ** 2, 2.0 * growth
