"""Statistics of how unusual a slice is: they decide whether the bank is simulated and the baseline learns from it.

Of the f features of a slice the six largest normalised squares are averaged, in two ways:

- `deviation`: against fixed standard deviations. While it is large, nothing is learnt.
- `surprise`: against the uncertainty of the Baseline and this robot's own scatter on its own ground. It is compared
  with its usual value: on smooth ground, a fifth of the usual value of rough ground is enough to start the bank.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class Suspicion:
    """Statistics of slices of a robot with n joints; a `value` above 1 starts the bank."""

    def __init__(self, joints: int, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits

        def variances(joint: float, tilt: float, turn: float) -> np.ndarray:
            return np.concatenate([np.full(joints, joint), [tilt, tilt, turn]]) ** 2

        self._coarse = variances(limits.coarse_joint, limits.coarse_tilt, limits.coarse_turn)
        self._ground = variances(limits.ground_joint, limits.ground_tilt, limits.ground_turn)
        self._unknown = variances(limits.unknown_joint, limits.unknown_tilt, limits.unknown_turn)
        self.restart()

    def restart(self) -> None:
        """Reset the statistics, because the model restarts."""
        self.value = self.deviation = 0.0
        self._usual, self._seen, self._surprise = 1.0, 0, 0.0
        self._calm_until, self._calm_value, self._calm = -np.inf, 0.0, self._limits.calm

    def forget(self) -> None:
        """Discard what the last slices said, because they were of a robot with other parts; what is usual stays."""
        self.value = 0.0

    def look(
        self,
        residual: np.ndarray,
        load: np.ndarray,
        yaw: float,
        noise: np.ndarray,
        baseline: Baseline,
        motion: np.ndarray | None = None,
    ) -> None:
        """Evaluate a slice: residual, noise (n + 3,), load (n,), heading yaw [rad], motion (n, 2); NaN, infinite: not
        measured.
        """
        limits, heading = self._limits, np.float64(yaw)
        square = (residual - baseline.predict(load, heading, motion)) ** 2
        unknown = baseline.unknown(load, heading, motion) ** 2 * self._unknown
        ground = np.maximum(baseline.scatter.variance(self._ground), limits.least_ground * self._ground)
        self._surprise = self._mean_of_largest(square / (noise**2 + ground + unknown))
        unusual = limits.unusual_times * self._usual + limits.unusual_above
        self.value = max(limits.suspicion_fades * self.value, self._surprise / unusual)
        self.deviation = limits.deviation_fades * self.deviation + self._mean_of_largest(square / self._coarse)
        self._seen += 1

    @property
    def learnable(self) -> bool:
        """True if the last slice may be that of an intact robot."""
        limits = self._limits
        first = self._seen <= limits.first_windows
        return self.deviation < (limits.learnable_at_first if first else limits.learnable)

    @property
    def wrong(self) -> bool:
        """True if the last slices cannot be those of an intact robot."""
        return self.deviation > self._limits.cannot_be_intact

    def is_usual(self) -> None:
        """Count the last slice's surprise as usual for this robot on this ground."""
        limited = min(self._surprise, self._limits.usual_times * self._usual + 1.0)
        self._usual += self._limits.usual_gain * (limited - self._usual)

    def found_nothing(self, time: float, value: float) -> None:
        """Note that the bank found no damage at `time` [s]; value: `value` at its start.

        Each further consecutive bank is valid twice as long as the previous one.
        """
        limits = self._limits
        again = time < self._calm_until + limits.calm_again and value < limits.calm_grows * self._calm_value
        self._calm = min(2.0 * self._calm, limits.longest_calm) if again else limits.calm
        self._calm_until, self._calm_value = time + self._calm, max(value, self._calm_value if again else 0.0)

    def asks(self, time: float) -> bool:
        """Return True if the bank is to be simulated at `time` [s]."""
        return self.value > 1.0 and not (
            time < self._calm_until and self.value < self._limits.calm_grows * self._calm_value
        )

    def _mean_of_largest(self, squares: np.ndarray) -> float:
        return float(np.sort(np.nan_to_num(squares, posinf=0.0))[-self._limits.largest_features :].mean())
