"""The simulated gyroscope errs as a recorded one."""

import numpy as np
import pytest
from support.gyroscope_error import GyroscopeError


def allan_deviation(samples, period, duration):
    """Allan deviation of samples (N,) over means of `duration` [s]."""
    count = round(duration / period)
    means = samples[: len(samples) // count * count].reshape(-1, count).mean(axis=1)
    return np.sqrt(0.5 * np.mean(np.diff(means) ** 2))


def test_the_allan_deviation_is_the_recorded_one():
    period = 0.1
    errors = [GyroscopeError(seed, period) for seed in range(4)]
    samples = np.degrees([[error.sample() for _ in range(6000)] for error in errors])
    for duration, recorded in ((1.0, 0.0126), (10.0, 0.0057), (60.0, 0.0031)):
        found = np.mean([allan_deviation(samples[k, :, axis], period, duration) for k in range(4) for axis in range(3)])
        assert found == pytest.approx(recorded, rel=0.2), duration


def test_the_calibration_leaves_what_one_second_of_noise_leaves():
    first = np.degrees(
        [np.mean([g.sample() for _ in range(50)], axis=0) for g in (GyroscopeError(s, 0.02) for s in range(200))]
    )
    assert np.std(first) == pytest.approx(np.hypot(0.0126, 0.0126), rel=0.2)
