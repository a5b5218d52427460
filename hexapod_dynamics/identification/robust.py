"""What the robust least-squares fits of the identification share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CLIP = 4.0  # standard deviations at which a residual is limited


def robust_share(residuals: Array) -> Array:
    """Return the weights, from 0 to 1, that limit normalised residuals of any shape to CLIP (Huber)."""
    return np.asarray(np.minimum(1.0, CLIP / np.maximum(np.abs(residuals), 1e-9)), np.float64)


def slopes(function: Callable[[Array], Array], values: Array, steps: Array) -> Array:
    """Derivatives (..., p) of a function's array by its arguments `values` (p,), by forward differences."""
    here = function(values)
    columns = [(function(values + row) - here) / step for row, step in zip(np.diag(steps), steps, strict=True)]
    return np.stack(columns, axis=-1)


def inflation(power: float, alike: float, most: float = 0.95) -> float:
    """Return a factor >= 1 on the variance of an estimate.

    power: mean square of the normalised residuals; alike: their correlation from one sample to the next, limited to
    `most`, because correlated samples tell less.
    """
    alike = min(max(alike, 0.0), most)
    return max(1.0, power) * (1.0 + alike) / (1.0 - alike)
