"""The simulated gyroscope's offset wanders as that of a recorded one."""

import numpy as np
import pytest

from hexapod_dynamics.onboard.simulation import GyroscopeOffset


def allan_deviation(samples, period, duration):
    """Allan deviation of samples (N,) over means of `duration` [s]."""
    count = round(duration / period)
    means = samples[: len(samples) // count * count].reshape(-1, count).mean(axis=1)
    return np.sqrt(0.5 * np.mean(np.diff(means) ** 2))


def test_beside_the_recorded_white_noise_the_allan_deviation_is_the_recorded_one():
    period, white = 0.1, 0.0126  # [s]; [deg/s] at 1 s
    offsets = [GyroscopeOffset(np.random.default_rng(seed), period) for seed in range(4)]
    samples = np.degrees([[offset.sample() for _ in range(6000)] for offset in offsets])
    samples += white / np.sqrt(period) * np.random.default_rng(9).normal(size=samples.shape)
    for duration, recorded in ((1.0, 0.0126), (10.0, 0.0057), (60.0, 0.0031)):
        found = np.mean([allan_deviation(samples[k, :, axis], period, duration) for k in range(4) for axis in range(3)])
        assert found == pytest.approx(recorded, rel=0.2), duration
