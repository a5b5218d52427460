"""The signs of late commands and readings, which are no evidence; walks with them: test_loaded_computer.py."""

import math

import numpy as np
import pytest

from hexapod_dynamics.detection.timing import LAG, Timing, find_lag


def test_the_lag_of_all_joints_is_found_and_that_of_one_is_not():
    random = np.random.default_rng(0)
    joints, rates = np.arange(36) % 18, random.uniform(-3.0, 3.0, 36)
    assert find_lag(joints, -0.08 * rates + random.normal(0.0, 3e-3, 36), rates) == pytest.approx(0.08, abs=0.01)
    assert abs(find_lag(joints, np.where(joints == 4, 0.5, 0.0), rates)) < 1e-9
    assert math.isnan(find_lag(joints, np.zeros(36), 0.1 * rates))


def test_a_lag_of_all_joints_is_late_and_named():
    timing = Timing()
    assert not timing.check_lag(1.0, 0.9 * LAG) and not timing.check_lag(1.0, math.nan) and not timing.disturbed
    assert timing.check_lag(2.0, 1.1 * LAG) and timing.disturbed and timing.was_late_recently(2.1)
    assert "all joints are 0.07 s behind" in timing.why


def test_each_sign_is_named():
    for spoil, words in (
        (lambda one: one.add_reading(0.7), "a reading came 0.32 s"),
        (lambda one: one.command(0.7), "a command came 0.32 s"),
        (lambda one: one.add_reading(1.0), "no joint was read for 0.50 s"),
    ):
        timing = Timing()
        timing.add_reading(0.5)
        timing.update(1.0)
        spoil(timing)
        assert (
            timing.update(1.02)
            and words in timing.why
            and timing.was_late_recently(1.2)
            and not timing.was_late_recently(1.4)
        )
    timing = Timing()
    assert not timing.update(1.0) and not timing.update(1.02) and timing.update(1.5)
    assert "stood still for 0.48 s" in timing.why
