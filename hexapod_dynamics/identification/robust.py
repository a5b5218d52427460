"""The least squares of the identification: Gauss-Newton with a Gaussian prior, robust where residuals are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CLIP = 4.0  # standard deviations at which a residual is limited


def fit(
    residuals: Callable[[Array], Array],
    prior: Array,
    width: Array,
    *,
    step: float,
    rounds: int,
    inflate: Callable[[Array], float] | None = None,
) -> tuple[Array, Array]:
    """Return the values (p,) with the least squares of `residuals` and of their distance from the prior, and their
    information (p, p), the inverse of their covariance.

    residuals(values): normalised, of any shape; prior, width (p,): mean and standard deviation; step: of differences,
    relative to values above 1. inflate(residuals): a factor on their variance; with it residuals are limited to CLIP.
    """
    values = prior
    for _ in range(rounds):
        r = residuals(values)
        share = np.ones_like(r) if inflate is None else compute_weights(r)
        J = differentiate(residuals, values, step * np.maximum(1.0, np.abs(values))).reshape(-1, len(values))
        weighted = J.T * share.ravel() / (1.0 if inflate is None else inflate(r * share))
        information = weighted @ J + np.diag(width**-2.0)
        values = values - np.linalg.solve(information, weighted @ r.ravel() + (values - prior) / width**2)
    return values, information


def compute_weights(residuals: Array) -> Array:
    """Return the weights, from 0 to 1, that limit normalised residuals of any shape to CLIP (Huber)."""
    return np.asarray(np.minimum(1.0, CLIP / np.maximum(np.abs(residuals), 1e-9)), np.float64)


def differentiate(function: Callable[[Array], Array], values: Array, steps: Array) -> Array:
    """Derivatives (..., p) of a function's array by its arguments `values` (p,), by forward differences."""
    here = function(values)
    columns = [(function(values + row) - here) / step for row, step in zip(np.diag(steps), steps, strict=True)]
    return np.stack(columns, axis=-1)


def inflation(residuals: Array, free: float, most: float = 0.95) -> float:
    """Return a factor >= 1 on the variance of an estimate, from its normalised residuals (T, ...) in the order of time.

    It is their mean square, of `free` degrees of freedom, and grows with the correlation from one to the next, limited
    to `most`, because correlated samples tell less.
    """
    squares = float(np.sum(residuals**2))
    alike = min(max(float(np.sum(residuals[1:] * residuals[:-1])) / max(squares, 1e-12), 0.0), most)
    return max(1.0, squares / free) * (1.0 + alike) / (1.0 - alike)
