"""Least squares over constants of a robot and places of its feet that change a little from sample to sample.

    cost = sum over samples b of |r_b - rows_b (x_b; g)|^2 + |(F_b + x_b - F_(b-1) - x_(b-1)) / step|^2

g: steps of the constants; x_b: those of the feet's places F_b. The feet of one sample after the other are eliminated
(an information filter), g is solved for, and the feet follow backward.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class FootChain:
    """Sums up samples in the order of time; F: numbers of the feet's places, G: of the constants."""

    def __init__(self, F: int, G: int) -> None:
        self.F = F
        self.information, self.pull = np.zeros((F + G, F + G)), np.zeros(F + G)
        self._before: list[tuple[Array, Array]] = []

    def add(self, information: Array, pull: Array) -> None:
        """Add the information matrix (F + G, F + G), feet first, and the information vector (F + G,) of observations
        of the present sample.
        """
        self.information += information
        self.pull += pull

    def next(self, moved: Array, weight: Array) -> None:
        """Go on to the next sample. Before it, the estimates of the places differ by `moved` (F,) from those of the
        present sample; weight (F,) [1 / variance]: how strictly each place stays, 0 if it may be anywhere now.
        """
        F, information, pull = self.F, self.information, self.pull
        inverse = np.linalg.inv(information[:F, :F] + np.diag(weight))
        inverse = 0.5 * (inverse + inverse.T)
        back = inverse @ np.column_stack([information[:F, F:], pull[:F] + weight * moved])
        self._before.append((inverse * weight, back))
        onward = weight[:, None] * back
        after, ahead = np.zeros_like(information), np.zeros_like(pull)
        after[:F, :F] = np.diag(weight) - weight[:, None] * inverse * weight
        after[:F, F:], after[F:, :F] = onward[:, :-1], onward[:, :-1].T
        after[F:, F:] = information[F:, F:] - information[F:, :F] @ back[:, :-1]
        ahead[:F] = onward[:, -1] - weight * moved
        ahead[F:] = pull[F:] - information[F:, :F] @ back[:, -1]
        self.information, self.pull = after, ahead

    def solve(self) -> tuple[Array, Array, Array]:
        """Return the steps of the constants (G,), their covariance (G, G), and the steps of the feet's places in every
        sample (samples, F).
        """
        covariance = np.linalg.inv(self.information)
        step = covariance @ self.pull
        feet, constants = step[: self.F], step[self.F :]
        steps = [feet]
        for gain, back in reversed(self._before):
            feet = back[:, -1] - back[:, :-1] @ constants + gain @ feet
            steps.append(feet)
        return constants, np.asarray(covariance[self.F :, self.F :], np.float64), np.array(steps[::-1])
