"""Statistics of how unusual a slice is: they decide whether the bank is simulated and the baseline learns from it.

Of the f features of a slice the six largest normalised squares are averaged, in two ways:

- `deviation`: against fixed standard deviations. While it is large, nothing is learnt.
- `surprise`: against what the Baseline leaves unknown and this robot's own scatter on its own ground. It is compared
  with its own usual value: on smooth ground a fifth of what is usual on rough ground is enough to ask the bank.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.baseline import Baseline

_LARGEST = 6  # features
# Standard deviations of joints, of roll and pitch, of yaw rate: fixed ones, of plausible ground, of an unknown robot.
_COARSE = (8e-3, 12e-3, 0.06)  # [rad], [rad], [rad/s]
_GROUND, _UNKNOWN = (4e-3, 8e-3, 0.03), (4e-3, 0.03, 0.03)
_LEAST = 0.1  # share of the variance of a plausible ground that is always assumed
_FADES, _DEVIATION_FADES = 0.75, 0.7  # by slice
_LEARNABLE, _STARTING, _WRONG = 8.0, 40.0, 30.0  # deviation below which a slice is learnt, at the start, and discarded
_BEGINNING = 12  # slices in which a slope and a payload are not known yet
_TIMES, _ABOVE = 2.0, 0.5  # surprise is unusual above _TIMES its usual value + _ABOVE
_USUAL_GAIN, _USUAL_LIMIT = 0.08, 3.0  # of the running mean; times the mean by which one slice is limited
# A bank that found nothing is valid for this long [s], unless the surprise grows by this factor meanwhile.
_CALM, _GROWS = 0.5, 1.3
_AGAIN = 2.0  # [s] after that time, within which another bank follows it in a row


class Suspicion:
    """Statistics of slices of a robot with n joints; `value` above 1 asks for the bank."""

    def __init__(self, joints: int) -> None:
        self._coarse, self._ground, self._unknown = (
            np.concatenate([np.full(joints, one[0]), [one[1], one[1], one[2]]]) ** 2
            for one in (_COARSE, _GROUND, _UNKNOWN)
        )
        self.restart()

    def restart(self) -> None:
        """Reset the statistics, because the model restarts."""
        self.value = self.deviation = 0.0
        self._usual, self._seen, self._surprise = 1.0, 0, 0.0
        self._calm_until, self._calm_value, self._calm = -np.inf, 0.0, _CALM

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
        heading = np.float64(yaw)
        square = (residual - baseline.predict(load, heading, motion)) ** 2
        unknown = baseline.unknown(load, heading, motion) ** 2 * self._unknown
        ground = np.maximum(baseline.scatter.variance(self._ground), _LEAST * self._ground)
        self._surprise = _mean_of_largest(square / (noise**2 + ground + unknown))
        self.value = max(_FADES * self.value, self._surprise / (_TIMES * self._usual + _ABOVE))
        self.deviation = _DEVIATION_FADES * self.deviation + _mean_of_largest(square / self._coarse)
        self._seen += 1

    @property
    def learnable(self) -> bool:
        """True if the last slice may be that of an intact robot."""
        return self.deviation < (_STARTING if self._seen <= _BEGINNING else _LEARNABLE)

    @property
    def wrong(self) -> bool:
        """True if the last slices cannot be those of an intact robot."""
        return self.deviation > _WRONG

    def is_usual(self) -> None:
        """Count the last slice's surprise as usual for this robot on this ground."""
        limited = min(self._surprise, _USUAL_LIMIT * self._usual + 1.0)
        self._usual += _USUAL_GAIN * (limited - self._usual)

    def found_nothing(self, time: float, value: float, longest: float = _CALM) -> None:
        """Note that the bank found no damage at `time` [s]; value: `value` at its start; longest [s]: see `asks`.

        Each bank in a row is valid twice as long as the one before.
        """
        again = time < self._calm_until + _AGAIN and value < _GROWS * self._calm_value
        self._calm = min(2.0 * self._calm, longest) if again else _CALM
        self._calm_until, self._calm_value = time + self._calm, max(value, self._calm_value if again else 0.0)

    def asks(self, time: float) -> bool:
        """Return True if the bank is to be simulated at `time` [s]."""
        return self.value > 1.0 and not (time < self._calm_until and self.value < _GROWS * self._calm_value)


def _mean_of_largest(squares: np.ndarray) -> float:
    return float(np.sort(np.nan_to_num(squares, posinf=0.0))[-_LARGEST:].mean())
