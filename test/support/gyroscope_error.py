"""Errors of an MPU6050's gyroscope after its calibration, with the Allan deviation of a recorded one.

Recorded at rest for ten minutes at 99 Hz (sunsided/sensor-fusion, data/set-2/unmoved-with-x-pointing-forward-10min),
axis x: standard deviation 0.126 deg/s; Allan deviation 0.0126 deg/s at 1 s, 0.0057 at 10 s, 0.0031 at 60 s. White noise
gives the first; an offset that wanders as a Gauss-Markov process the other two.
"""

from __future__ import annotations

import numpy as np

WHITE = float(np.radians(0.0126))  # [rad/s] Allan deviation of the white noise at 1 s
WANDER, WANDER_TIME = float(np.radians(0.0066)), 8.0  # [rad/s], [s]


class GyroscopeError:
    """Samples of the error each `period` [s]; the mean of one second at rest was subtracted at the start."""

    def __init__(self, seed: int, period: float) -> None:
        self._random = np.random.default_rng((seed, 1))
        self._keep = float(np.exp(-period / WANDER_TIME))
        self._noise = WHITE / np.sqrt(period)
        self._wander = self._random.normal(0.0, WANDER, 3)
        self._left = self._random.normal(0.0, WHITE, 3) - self._wander

    def sample(self) -> np.ndarray:
        """Return the next error (3,) [rad/s]."""
        fresh = np.sqrt(1.0 - self._keep**2) * self._random.normal(0.0, WANDER, 3)
        self._wander = self._keep * self._wander + fresh
        return self._left + self._wander + self._random.normal(0.0, self._noise, 3)
