"""The lag of the servos, from joints that follow late; two kinds of servos that the walking robot tells apart."""

from dataclasses import replace

import numpy as np
import pytest
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.servo_model import FIRST, LARGEST, MEMORY, RANGE, ServoLag
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

OWN = 0.01  # damping over stiffness [s]


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
        ServoLag.of_robot(robot).adopt_feed_forward() == 0.0
        and ServoLag.of_robot(Robot.jethexa()).adopt_feed_forward() == 1.0
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
