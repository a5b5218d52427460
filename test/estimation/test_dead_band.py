"""The servos' dead band: found from loaded joints that stand off their set-points, whatever trims and stiffness are."""

import dataclasses

import numpy as np
import pytest
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.servo_model import LOADED, DeadBandFilter
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

COUNT = np.deg2rad(0.24)


def feed(band, *, ratio=1.0, trim=0.0, seconds=20.0, filter_=None, seed=0):
    """Feed readings of twelve joints, 200 a second, whose loads change sign within a cycle of 1.3 s."""
    rng = np.random.default_rng(seed)
    found = filter_ or DeadBandFilter(12, 4 * COUNT)
    trims = trim * rng.normal(size=12)
    for k in range(round(200 * seconds)):
        joint, phase = k % 12, 2.0 * np.pi * (0.005 * k / 1.3 + k % 12 / 12.0)
        stretch = 0.008 + 0.02 * np.sin(phase)
        lag = ratio * stretch + band * np.sign(stretch) + trims[joint]
        lag = np.round((lag + rng.uniform(-0.5, 0.5) * COUNT) / COUNT) * COUNT
        found.measure(joint, lag, stretch, 0.1 * np.cos(phase))
        if k % 200 == 199:
            found.forget(1.0)
    return found


@pytest.mark.parametrize("band", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.2])
def test_it_is_found_beside_trims_and_another_stiffness(band, ratio):
    found = feed(band * COUNT, ratio=ratio, trim=0.3 * COUNT).band / COUNT
    assert max(0.0, band - 0.5) <= found <= band + 0.2


def test_what_is_learnt_follows_a_change_and_stays_within_its_bound():
    found = feed(0.0)
    assert found.band < 0.1 * COUNT
    assert feed(1.5 * COUNT, seconds=90.0, filter_=found).band == pytest.approx(1.5 * COUNT, abs=0.4 * COUNT)
    assert feed(8.0 * COUNT).band == 4 * COUNT


def test_an_identified_dead_zone_is_known_from_the_first_step_on():
    laws = (JointServo(30.0, 2.0 * COUNT, 0.02, 0.01, 1.0, 0.004, 0.02, 0.1),) * 18
    found = DeadBandFilter.of_robot(dataclasses.replace(Robot.jethexa(), joint_servos=laws))
    assert found.band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    for _ in range(60):  # nothing is read for a minute
        found.forget(1.0)
        assert found.band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    assert DeadBandFilter.of_robot(Robot.jethexa()).band == 0.0


def test_joints_without_load_say_nothing():
    found = DeadBandFilter(2, 4 * COUNT)
    for _ in range(1000):
        found.measure(0, 2 * COUNT, 0.9 * LOADED, 0.0)
    assert found.band == 0.0


@pytest.mark.parametrize("band", [0.0, 2.0])
def test_the_model_of_a_walk_takes_the_learnt_band_over(band):
    walk = SensedWalk("built_in", Truth(deadband=band), gait=AdaptiveGait())
    walk.run(36.0)  # what is certain of it has grown to 0.4 counts after 12 s, to 0.8 then
    learnt = walk.observer.dead_band.band / COUNT
    assert (0.7 < learnt < 2.5) if band else learnt < 0.3
    rows = np.array(walk.rows)
    way = rows[-1, 1] - rows[-60, 1]
    assert abs(rows[-1, 6] - rows[-60, 6] - way) < 0.015 * way  # without a band of its own 2.6 %
