"""The speed factor: what dead band and shaken headings do to the way; a walk whose feet stumble."""

from dataclasses import replace

import numpy as np
import pytest
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.speed_factor import LARGEST, SAG, STUMBLE, UNSEEN, SpeedFactor
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

ROBOT = Robot.jethexa()


def test_a_dead_band_lengthens_the_way_and_a_shaken_heading_shortens_it():
    factor = SpeedFactor(play=0.0)
    assert factor.update(0.0, 0.0, 0.01) == 0.0
    assert factor.update(0.004, 0.0, 0.01) == pytest.approx(SAG * 0.004)
    shaken = factor.update(0.004, 0.01, 0.01)
    assert shaken == factor.share < -0.05 and factor.update(0.0, 10.0, 0.01) > -STUMBLE * LARGEST
    known = SpeedFactor(play=0.002)
    assert known.update(0.002, 0.0, 0.01) == pytest.approx(SAG * 0.004)
    assert SpeedFactor().update(0.0, 0.0, 0.01) == pytest.approx(SAG * UNSEEN)  # play that was not identified


def test_a_steady_difference_of_the_heading_as_in_a_turn_is_no_stumble():
    factor = SpeedFactor(play=0.0)
    for _ in range(1500):
        factor.update(0.0, 0.006, 0.01)
    assert factor.share == 0.0
    factor.clear()
    assert factor.update(0.0, 0.006, 0.01) < -0.05


def test_play_that_was_identified_lengthens_the_way():
    """No reading shows play: its strides are longer than the model's, and `identify` has found by how much."""
    truth, play, drifts = Truth(zone=0.5, hysteresis=0.5), np.radians(0.5), []
    servo = JointServo(ROBOT.servo.stiffness, dead_zone=np.radians(0.5), play=play)
    for known in (None, replace(ROBOT, joint_servos=(servo,) * ROBOT.joint_count)):
        rows = SensedWalk("mujoco", truth, seed=3, gait=AdaptiveGait(), known=known).run(20.0)
        drifts.append(np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3]))
    assert drifts[1] < 0.6 * drifts[0]


@pytest.mark.slow
def test_the_way_of_a_tripod_that_stumbles_over_rough_ground_is_predicted():
    """Feet that strike bumps of 7 mm cost a fifth of the way that the model has; without the factor 9 % of it."""
    truth = Truth(
        mass=1.03, payload=0.17, friction=0.7, deadband=0.6, slope=1.5, slope_yaw=140.0, rough=0.0075, seed=4227
    )
    drifts = {}
    for used in (True, False):
        walk = SensedWalk("mujoco", truth, seed=3, gait=TripodGait())
        if not used:
            walk.observer.way.speed_factor.update = lambda *_: 0.0
        rows = walk.run(15.0)
        drifts[used] = np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3])
    assert drifts[True] < 0.05 and drifts[True] < 0.7 * drifts[False]
