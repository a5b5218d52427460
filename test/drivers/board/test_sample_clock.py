"""Times of samples from their arrivals, against arrivals that were made with known times."""

import numpy as np
import pytest

from hexapod_dynamics.drivers.board.port import SampleClock


def arrivals(rng, rate, count, delay, lost=0.0):
    """Times of samples (n,) [s], their arrivals in order, whether bytes before each were damaged."""
    times = 5.0 + np.arange(count) / rate
    came = np.maximum.accumulate(times + delay(times, rng) + (rng.random(count) < 0.002) * 0.05)
    there = rng.random(count) >= lost
    noisy = np.append(False, ~there[:-1])
    return times[there], came[there], noisy[there]


@pytest.mark.parametrize(
    ("delay", "spread"),
    [
        (lambda t, rng: rng.exponential(0.002, len(t)), 0.3e-3),
        (lambda t, rng: np.ceil(t / 0.016) * 0.016 - t, 0.6e-3),  # the latency timer of an FTDI adapter
    ],
    ids=["jitter", "latency timer"],
)
def test_stamps_are_ten_times_better_than_arrivals(delay, spread):
    times, came, noisy = arrivals(np.random.default_rng(3), 100.7, 4000, delay)
    clock = SampleClock()
    stamps = np.array([clock.stamp(t, bad) for t, bad in zip(came, noisy, strict=True)])
    error = (stamps - times)[300:]
    assert clock.rate == pytest.approx(100.7, rel=1e-3)
    assert error.std() < spread < 0.12 * (came - times)[300:].std()
    assert (stamps <= came).all() and (np.diff(stamps) >= 0.0).all()


def test_lost_samples_leave_the_others_at_their_times():
    delay = lambda t, rng: rng.exponential(0.001, len(t))  # noqa: E731
    times, came, noisy = arrivals(np.random.default_rng(4), 99.0, 4000, delay, lost=0.02)
    clock = SampleClock()
    error = np.array([clock.stamp(t, bad) for t, bad in zip(came, noisy, strict=True)])[300:] - times[300:]
    assert np.percentile(np.abs(error), 95) < 2e-3


def test_a_pause_begins_anew():
    clock = SampleClock()
    for k in range(200):
        clock.stamp(k * 0.01)
    assert clock.rate == pytest.approx(100.0, rel=1e-3)
    assert clock.stamp(60.0) == 60.0
    assert np.isnan(clock.rate)
