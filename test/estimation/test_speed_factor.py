"""The speed factor: what the measures of the strides do to the way; a walk whose feet stumble."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.odometry import (
    CALM,
    DEFLECTION,
    EVEN,
    LARGEST,
    MOST,
    PITCHING,
    PLAY,
    STUMBLE,
    SURGE,
    SpeedFactor,
    StrideMeasures,
)
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

ROBOT = Robot.jethexa()


def strides(surge=1.0, deflection=0.0, pitching=0.0):
    """Return measures as a StrideMeasures has them."""
    return SimpleNamespace(surge=surge, deflection=deflection, pitching=pitching)


def test_a_robot_that_walks_as_its_model_has_the_model_s_way():
    assert SpeedFactor().update(strides(), 0.0, 0.01) == 0.0
    assert SpeedFactor().update(StrideMeasures(9.81), 0.0, 0.01) == 0.0  # before anything is measured


def test_less_surge_and_coxae_that_give_way_lengthen_the_way_and_tossing_shortens_it():
    factor = SpeedFactor()
    assert factor.update(strides(surge=0.4), 0.0, 0.01) == pytest.approx(0.6 * SURGE)
    assert factor.update(strides(deflection=5e-4), 0.0, 0.01) == pytest.approx(5e-4 * DEFLECTION)
    assert factor.update(strides(pitching=CALM), 0.0, 0.01) == 0.0
    assert factor.update(strides(pitching=CALM + 0.01), 0.0, 0.01) == factor.share == pytest.approx(-0.01 * PITCHING)
    assert SpeedFactor(play=0.002).update(strides(), 0.0, 0.01) == pytest.approx(0.002 * PLAY)


def test_every_share_is_bounded():
    assert SpeedFactor().update(strides(surge=-50.0), 0.0, 0.01) == pytest.approx(SURGE)
    assert SpeedFactor().update(strides(surge=50.0), 0.0, 0.01) == pytest.approx(-SURGE)
    assert SpeedFactor().update(strides(deflection=1.0), 0.0, 0.01) == pytest.approx(MOST)
    assert SpeedFactor().update(strides(pitching=9.0), 0.0, 0.01) == pytest.approx(-MOST)
    assert SpeedFactor().update(strides(), 10.0, 0.01) == pytest.approx(-STUMBLE * (LARGEST - EVEN))


def test_a_steady_difference_of_the_heading_as_in_a_turn_is_no_stumble():
    factor, as_modelled = SpeedFactor(), strides()
    assert factor.update(as_modelled, 0.01, 0.01) < -0.05
    for _ in range(1500):
        factor.update(as_modelled, 0.01, 0.01)
    assert factor.share == 0.0
    factor.clear()
    assert factor.update(as_modelled, 0.01, 0.01) < -0.05


def test_play_that_was_identified_lengthens_the_way():
    """No reading shows play: its strides are longer than the model's, and `identify` has found by how much."""
    truth, play, drifts = Truth(zone=0.5, hysteresis=0.5), np.radians(0.5), []
    servo = JointServo(ROBOT.servo.stiffness, dead_zone=np.radians(0.5), play=play)
    for known in (None, replace(ROBOT, joint_servos=(servo,) * ROBOT.joint_count)):
        rows = SensedWalk("mujoco", truth, seed=3, gait="auto", known=known).log(14.0)
        drifts.append(np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3]))
    assert drifts[1] < 0.6 * drifts[0]
