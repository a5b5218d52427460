"""Lag and dead zone of servos are identified from what the joints leave, once for each robot."""

import numpy as np
import pytest

from hexapod_dynamics.detection.learnt_servos import LearntServos
from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.detection.servo_identification import ServoIdentification, sign_of_load

JOINTS, WINDOW = 18, 0.32


def readings(count, lag, zone, *, seed=0, amplitude=1.0):
    """Readings of joints that move and carry, with noise and an offset of each joint."""
    random = np.random.default_rng(seed)
    joint = random.integers(0, JOINTS, count)
    rate = amplitude * random.normal(0.0, 0.8, count)
    lead = random.normal(0.0, 0.03, count)
    offset = np.random.default_rng(5).normal(0.0, 0.01, JOINTS)
    residual = -lag * rate - zone * sign_of_load(lead) + 0.1 * lead + offset[joint] + random.normal(0.0, 4e-3, count)
    return joint, residual, rate, lead


@pytest.mark.parametrize("lag, zone", [(0.0, 0.0), (0.012, 0.004), (-0.005, 0.008)])
def test_lag_and_dead_zone_are_identified_beside_offsets_and_softness(lag, zone):
    identification = ServoIdentification(JOINTS)
    identification.measure(*readings(1500, lag, zone))
    found = identification.identify_servo_lag()
    assert found[0] == pytest.approx(lag, abs=1.5e-3) and found[1] == pytest.approx(zone, abs=1.5e-3)


def feed(servos, windows, lag, zone, amplitude=1.0):
    """Give so many windows to LearntServos; return in which ones lag and zone changed."""
    changed = []
    for k in range(windows):
        left = lag - servos.lag, zone - servos.zone
        if servos.measure(readings(30, *left, seed=k, amplitude=amplitude)):
            changed.append(k)
    return changed


def test_they_are_identified_twice_while_the_robot_walks_and_then_kept():
    servos = LearntServos(DetectorLimits(), JOINTS, WINDOW)
    assert feed(servos, 20, 0.012, 0.006, amplitude=0.0) == [] and not servos.identified  # stands
    changed = feed(servos, 15, 0.012, 0.006)
    assert changed == []
    changed = feed(servos, 20, 0.012, 0.006)
    assert len(changed) >= 1 and servos.identified
    assert servos.lag == pytest.approx(0.012, abs=3e-3) and servos.zone == pytest.approx(0.006, abs=2e-3)
    kept = servos.lag, servos.zone
    assert feed(servos, 100, 0.03, 0.0) == [] and (servos.lag, servos.zone) == kept


def test_a_robot_that_stood_before_it_walked_is_learnt_after_its_servos_were_identified():
    """The node starts while the robot stands up, so its first windows are over when the second identification comes."""
    servos = LearntServos(DetectorLimits(), JOINTS, WINDOW)
    deviates = 13.0  # as servos with 10 ms more lag, above the deviation below which windows are learnt later
    while servos.learns_start(deviates):
        feed(servos, 1, 0.012, 0.006, amplitude=0.0)
    feed(servos, 60, 0.012, 0.006)
    assert servos.identified and servos.learns_start(deviates)


def test_servos_that_are_those_of_the_model_leave_it_as_it_is():
    servos = LearntServos(DetectorLimits(), JOINTS, WINDOW)
    assert feed(servos, 60, 0.001, 0.001) == [] and servos.identified
    assert (servos.lag, servos.zone) == (0.0, 0.0)


def test_what_is_identified_stays_within_its_limits():
    limits = DetectorLimits()
    servos = LearntServos(limits, JOINTS, WINDOW)
    feed(servos, 60, 0.2, 0.1)
    assert servos.lag <= limits.longest_lag and servos.zone <= limits.widest_zone
