"""What is learnt of the servos: a dead band, of loaded joints off their set-points; a lag, of joints that are late."""

from dataclasses import replace

import numpy as np
import pytest
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.servo_model import FIRST, LARGEST, LOADED, MEMORY, RANGE, DeadBandFilter, ServoLag
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

COUNT = np.deg2rad(0.24)
OWN = 0.01  # damping over stiffness of the JetHexa's servos [s]


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
    found = feed(band * COUNT, ratio=ratio, trim=0.3 * COUNT).certain_band / COUNT
    assert max(0.0, band - 0.5) <= found <= band + 0.2


def test_what_is_learnt_follows_a_change_and_stays_within_its_bound():
    found = feed(0.0)
    assert found.certain_band < 0.1 * COUNT
    assert feed(1.5 * COUNT, seconds=90.0, filter_=found).certain_band == pytest.approx(1.5 * COUNT, abs=0.4 * COUNT)
    assert feed(8.0 * COUNT).certain_band == 4 * COUNT


def test_an_identified_dead_zone_is_known_from_the_first_step_on():
    laws = (JointServo(30.0, 2.0 * COUNT, 0.02, 0.01, 1.0, 0.004, 0.02, 0.1),) * 18
    found = DeadBandFilter.from_robot(replace(Robot.jethexa(), joint_servos=laws))
    assert found.certain_band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    for _ in range(60):  # nothing is read for a minute
        found.forget(1.0)
        assert found.certain_band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    assert DeadBandFilter.from_robot(Robot.jethexa()).certain_band == 0.0


def test_joints_without_load_say_nothing():
    found = DeadBandFilter(2, 4 * COUNT)
    for _ in range(1000):
        found.measure(0, 2 * COUNT, 0.9 * LOADED, 0.0)
    assert found.certain_band == 0.0


@pytest.mark.parametrize("band", [0.0, 2.0])
def test_the_model_of_a_walk_takes_the_learnt_band_over(band):
    walk = SensedWalk("built_in", Truth(deadband=band), gait=AdaptiveGait())
    walk.run(36.0)  # what is certain of it has grown to 0.4 counts after 12 s, to 0.8 then
    found = walk.observer.dead_band.certain_band / COUNT
    assert (0.7 < found < 2.5) if band else found < 0.3
    rows = np.array(walk.rows)
    way = rows[-1, 1] - rows[-60, 1]
    assert abs(rows[-1, 6] - rows[-60, 6] - way) < 0.015 * way  # without a band of its own 2.6 %


# ---- lag -------------------------------------------------------------------------------------------------------------


def learnt(lag, seconds=5.0, noise=0.004):
    """A ServoLag after readings of joints that follow by a lag [s]; 200 a second."""
    random, one = np.random.default_rng(1), ServoLag(OWN)
    for rate in random.normal(0.0, 1.0, round(200 * seconds)).tolist():
        one.measure(-lag * rate + noise * random.normal(), rate)
    return one


@pytest.mark.parametrize("lag", [0.0, 0.008, 0.02])
def test_the_lag_of_joints_that_follow_late_is_found(lag):
    assert learnt(lag).seconds == pytest.approx(lag, abs=0.001)


def test_the_kind_follows_from_the_lag_and_is_that_of_the_model_before_anything_is_read():
    assert ServoLag(OWN).feed_forward == 1.0 == learnt(0.5 * FIRST * OWN).feed_forward
    assert learnt(1.2 * (FIRST + RANGE) * OWN).feed_forward == 0.0
    assert learnt((FIRST + 0.5 * RANGE) * OWN).feed_forward == pytest.approx(0.5, abs=0.1)
    assert ServoLag(0.0).feed_forward == 1.0  # a servo without damping


def test_what_was_read_long_ago_counts_less_and_one_wild_reading_little():
    one = learnt(0.02)
    one.forget(MEMORY / 2)
    for rate in np.random.default_rng(2).normal(0.0, 1.0, 1000).tolist():
        one.measure(0.0, rate)
    assert one.seconds < 0.008
    before = learnt(0.01)
    after = learnt(0.01)
    after.measure(100.0, 1.0)
    assert abs(after.seconds - before.seconds) <= LARGEST / 1.0 * 0.01


def test_a_model_whose_servos_damp_is_late_itself_and_the_lag_is_still_that_of_the_servos():
    """Readings equal to the angles of such a model say that the servos damp."""
    one = learnt(1.2 * (FIRST + RANGE) * OWN)
    assert one.adopt_feed_forward() == 0.0
    for rate in np.random.default_rng(3).normal(0.0, 1.0, 20_000).tolist():
        one.measure(0.0, rate)
        one.forget(0.005)
    assert one.seconds == pytest.approx(OWN, rel=0.05)


def test_an_identified_kind_is_that_of_the_model_from_the_first_step_on_whatever_the_lag():
    servo = JointServo(Robot.jethexa().servo.stiffness, feed_forward=0.0)
    robot = replace(Robot.jethexa(), joint_servos=(servo,) * 18)
    assert (
        ServoLag.from_robot(robot).adopt_feed_forward() == 0.0
        and ServoLag.from_robot(Robot.jethexa()).adopt_feed_forward() == 1.0
    )


@pytest.mark.parametrize("kind", [0.0, 1.0])
def test_a_walk_tells_servos_that_damp_against_zero_rate_from_those_that_feed_the_rate_forward(kind):
    truth = Truth(ff=kind, lag=0.003, zone=0.4, hysteresis=0.3, servo_friction=0.3, delay=0.006)
    walk = SensedWalk("mujoco", truth, seed=4, gait="auto")
    walk.run(8.0)
    assert walk.observer.servo_lag.feed_forward == pytest.approx(kind, abs=0.3)
    # As it was learnt a second ago.
    assert walk.observer.model.drive["feed_forward"].item() == pytest.approx(kind, abs=0.3)
    assert Robot.jethexa().servo.damping / Robot.jethexa().servo.stiffness == pytest.approx(OWN)
