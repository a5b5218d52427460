"""What tips a robot, as its IMU shows it, and what only leans it."""

import math

import numpy as np
import pytest

from hexapod_dynamics.gait.recovery.brace import TipWatch

DT, GRAVITY = 0.01, 9.81


def watched(*pieces, axis=(1.0, 0.0), gravity_only=False):
    """Whether a TipWatch found a tip, after pieces of (seconds, angular velocity [rad/s], vertical acceleration
    [m/s^2], sideways force [m/s^2]) of a body that turns about a horizontal axis.
    """
    watch, lean, found = TipWatch(), 0.0, False
    for seconds, rate, acceleration, side in pieces:
        for _ in range(round(seconds / DT)):
            lean += rate * DT
            # The upward direction in base_link of a body that has turned by `lean` about the axis.
            up = np.array([-math.sin(lean) * axis[1], math.sin(lean) * axis[0], math.cos(lean)])
            force = (GRAVITY + acceleration) * up
            found |= watch.update(DT, force.tolist(), [rate * axis[0], rate * axis[1], 0.0], side)
    return found


STANDS = (3.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.6, 0.8)])
def test_a_body_that_is_pushed_turns_and_rises_is_tipped_in_any_direction(axis):
    assert watched(STANDS, (0.2, 1.5, 1.0, 6.0), axis=axis)
    assert not watched(STANDS, axis=axis)


def test_each_of_the_three_signs_is_needed():
    assert not watched(STANDS, (0.2, 1.5, 1.0, 3.0))  # hardly any force
    assert not watched(STANDS, (0.2, 0.2, 1.0, 6.0))  # hardly any lean: it slides
    assert not watched(STANDS, (0.2, 1.5, 0.0, 6.0))  # it does not rise


def test_a_body_that_only_leans_does_not_rise():
    """The vertical force is that along the upward direction; the force along z of the body is less by a cosine."""
    watch, lean = TipWatch(), 0.0
    for k in range(500):
        rate = 1.5 if k >= 300 and lean < 0.5 else 0.0
        lean += rate * DT
        watch.update(DT, [0.0, GRAVITY * math.sin(lean), GRAVITY * math.cos(lean)], [rate, 0.0, 0.0], 0.0)
        assert abs(watch._rise) < 0.05


def test_a_body_that_sinks_where_a_foot_is_lost_and_hits_the_ground_is_not_tipped():
    sinks, hits, lies = (0.15, 1.5, -3.0, 3.0), (0.05, 2.0, 15.0, 8.0), (0.2, 0.2, 2.0, 8.0)
    assert not watched(STANDS, sinks, hits, lies)
    assert watched(STANDS, hits, lies)  # so it is the sinking that tells


def test_a_body_that_is_put_down_on_a_slope_is_not_tipped():
    """It turned within 0.1 s of the first sample, and braced: the mean of its lean was not known."""
    assert not watched((0.2, 1.5, 1.0, 6.0))


def test_a_lean_that_stays_is_no_tip_any_more():
    assert not watched(STANDS, (0.3, 1.0, 0.0, 1.0), (8.0, 0.0, 0.0, 1.0), (0.2, 0.0, 1.0, 6.0))
    assert watched(STANDS, (0.3, 1.0, 0.0, 1.0), (0.2, 0.0, 1.0, 6.0))
