"""Identifies how the healthy robot differs from the model, for each joint and in tilt.

The residual of a joint (measured less modelled, mean of a slice) is taken as

    r = a e + b + noise,    e: set-point less modelled angle [rad], the modelled load over the stiffness

so that softer servos and payloads (a) and wrong trims (b) are identified for every gait and command. Recursive least
squares with forgetting; slices are used with a delay, so that new damage is not taken for a property of the healthy
robot.
"""

from __future__ import annotations

from collections import deque

import numpy as np

_PRIOR = np.array([0.3, 4e-3])  # standard deviations of a and b [rad]
_NOISE = 5e-3  # [rad] of a slice's residual
_FORGET = 0.985  # by slice
_LAG = 6  # slices


class Baseline:
    """Regression coefficients of n joints and running means of the tilt features (m,)."""

    def __init__(self, joints: int, tilts: int) -> None:
        self.coefficients = np.zeros((joints, 2))
        self._covariance = np.tile(np.diag(_PRIOR**2), (joints, 1, 1))
        self.tilt = np.zeros(tilts)
        self._tilt_weight = 0.0
        self._waiting: deque[tuple] = deque()

    def forget_waiting(self) -> None:
        """Discard the slices that wait to be used, because something was wrong in them."""
        self._waiting.clear()

    def predict(self, loads: np.ndarray) -> np.ndarray:
        """Expected residuals (..., n) [rad] at modelled loads (..., n) [rad]."""
        return self.coefficients[:, 0] * loads + self.coefficients[:, 1]

    @property
    def known(self) -> np.ndarray:
        """Standard deviation of each joint's `a` (n,) as a fraction 0..1 of the prior's."""
        return np.sqrt(self._covariance[:, 0, 0]) / _PRIOR[0]

    def offer(self, residuals: np.ndarray, loads: np.ndarray, tilts: np.ndarray) -> None:
        """Queue a slice without damage: residuals, loads (n,), NaN where nothing was measured; tilts (m,)."""
        self._waiting.append((residuals, loads, tilts))
        if len(self._waiting) > _LAG:
            self._learn(*self._waiting.popleft())

    def _learn(self, residuals: np.ndarray, loads: np.ndarray, tilts: np.ndarray) -> None:
        seen: np.ndarray = np.isfinite(residuals)
        x = np.stack([np.where(seen, loads, 0.0), np.ones(loads.size)], axis=1)
        p = self._covariance / _FORGET
        # Forgetting must not make the covariance larger than the prior's.
        p = np.where((p[:, [0, 1], [0, 1]] > _PRIOR**2).any(axis=1)[:, None, None], self._covariance, p)
        px = np.einsum("jkl,jl->jk", p, x)
        gain = px / (_NOISE**2 + np.einsum("jk,jk->j", x, px))[:, None]
        error = np.where(seen, residuals, 0.0) - np.einsum("jk,jk->j", self.coefficients, x)
        # Limits the influence of one outlier.
        error = np.clip(error, -0.02, 0.02)
        self.coefficients[seen] += (gain * error[:, None])[seen]
        self._covariance[seen] = (p - np.einsum("jk,jl->jkl", gain, px))[seen]
        good = np.isfinite(tilts)
        self._tilt_weight = min(self._tilt_weight + 1.0, 30.0)
        self.tilt[good] += (tilts - self.tilt)[good] / self._tilt_weight
