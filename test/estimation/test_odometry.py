"""The measures of the strides and what they do to the way: synthetic motions, walks on other ground and with play."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.odometry import PRIOR, READING_RATE, BandPass, SpeedFactor, StrideMeasures
from hexapod_dynamics.robot import JointServo
from hexapod_dynamics.simulation import Truth

G, DT, SPEED, SWING = 9.81, 0.01, 0.08, 0.03
UP = np.array([0.0, 0.0, 1.0])


def walked(gain=1.0, heading=0.0, pitching=0.0, seconds=60.0, learns=True, late=0.0, every=1):
    """Return measures of a body that surges along a heading [rad] of its own axes, `gain` times as much as the model,
    and pitches at a rate of an amplitude [rad/s]; 1 Hz. late [s]: of the samples, of which each `every`th arrives.
    """
    strides, w = StrideMeasures(G), 2.0 * math.pi
    along = np.array([math.cos(heading), math.sin(heading)])
    before = SPEED * along
    for k in range(1, round(seconds / DT)):
        t = k * DT
        velocity = (SPEED + SWING * math.sin(w * t)) * along
        strides.note_model(t, before.tolist(), np.array([*velocity, 0, 0, 0, 0]), UP, DT)
        before = velocity
        at = t - late
        surge = gain * SWING * w * math.cos(w * at) * along
        rate = pitching * math.sin(w * at) * np.array([-along[1], along[0], 0.0])
        if k % every == 0:
            strides.add_acceleration(at, [*surge, G], rate.tolist(), learns)
    return strides


@pytest.mark.parametrize("heading", [0.0, 1.5, -2.5])
def test_a_body_that_surges_and_pitches_less_or_more_than_the_model(heading):
    """With 3 s of the prior in some 29 s the measures have nine tenths of the true value (and of its square)."""
    shy, bold = walked(0.4, heading), walked(1.6, heading)
    assert shy.surge == pytest.approx(0.4, abs=0.1) and bold.surge == pytest.approx(1.6, abs=0.1)
    assert walked(1.0, heading).surge == pytest.approx(1.0, abs=0.005)
    passed = BandPass()
    passed.start(0.0)
    swing = [passed.step(0.05 * math.sin(2.0 * math.pi * DT * k), DT) for k in range(1000)]
    pitching = walked(1.0, heading, pitching=0.05).pitching
    assert 0.9 * np.std(swing[500:]) < pitching < np.std(swing[500:])


def test_late_samples_are_compared_with_the_model_of_their_own_time():
    assert walked(1.0, late=0.03).surge == pytest.approx(1.0, abs=0.005)


def test_an_imu_of_25_samples_a_second_teaches_nothing_and_one_of_50_does():
    assert walked(0.4, every=2).surge == pytest.approx(0.4, abs=0.1)
    assert walked(0.4, pitching=0.05, every=4).surge == 1.0 and walked(pitching=0.05, every=4).pitching == 0.0


def test_nothing_is_learnt_of_a_robot_that_stands_or_contradicts_its_model():
    for strides in (walked(0.4, learns=False), walked(0.4, seconds=0.05)):
        assert strides.surge == pytest.approx(1.0, abs=1e-3)
    standing = StrideMeasures(G)
    for k in range(1000):
        standing.note_model(k * DT, [0.0, 0.0], np.zeros(6), UP, DT)
        standing.add_acceleration(k * DT, [math.sin(k), 0.0, G], [0.0, math.sin(k), 0.0], True)
        standing.read_coxa(0.1, 0.02)
    assert (standing.surge, standing.deflection, standing.pitching) == (1.0, 0.0, 0.0)


def test_coxae_that_give_way_to_their_loads():
    strides = walked(seconds=30.0)
    for k in range(4000):
        load = 0.03 * (-1) ** k
        strides.read_coxa(-0.001 * math.copysign(1.0, load), load)
    assert strides.deflection == pytest.approx(0.001, rel=0.1)
    for _ in range(200):  # readings without a load tell nothing
        strides.read_coxa(0.5, 0.0)
    assert 0.0009 < strides.deflection < 0.001
    assert READING_RATE * PRIOR > 100  # some readings of the first second do not decide
    strides.clear()
    assert strides.deflection == 0.0


def test_a_gap_of_the_samples_does_not_count():
    strides = walked(1.0)
    before, now = strides.surge, 61.0
    for k in range(3):  # each after a gap
        strides.note_model(now + k, [SPEED, 0.0], np.array([SPEED, 0, 0, 0, 0, 0]), UP, DT)
        strides.add_acceleration(now + k, [30.0, 0.0, G], [0.0, 9.0, 0.0], True)
    assert strides.surge == before and strides.pitching == pytest.approx(0.0, abs=1e-9)


def test_on_stiff_ground_a_robot_with_other_servos_surges_less_and_its_way_is_longer():
    """MuJoCo's ground does not give way. This robot's model alone is 3 % short (seed 6240, one of the rule's)."""
    errors = {}
    for used in (True, False):
        walk = SensedWalk("mujoco", Truth.parse("servos=real,seed=6240"), seed=6240, gait="auto")
        if not used:
            walk.observer.odometry.speed_factor.update = lambda *_: 0.0
        rows = walk.log(13.0)[80:]  # 8 s are for learning
        true, predicted = (np.hypot(*(rows[-1, c : c + 2] - rows[0, c : c + 2])) for c in (1, 6))
        errors[used] = predicted / true - 1.0
        assert walk.observer.odometry.strides.surge < 0.7
    assert errors[False] < -0.02 and abs(errors[True]) < 0.6 * abs(errors[False])


# ---- the speed factor ------------------------------------------------------------------------------------------------


def strides(surge=1.0, deflection=0.0, pitching=0.0):
    """Return measures as a StrideMeasures has them."""
    return SimpleNamespace(surge=surge, deflection=deflection, pitching=pitching)


def test_a_robot_that_walks_as_its_model_has_the_model_s_way():
    assert SpeedFactor().update(strides(), 0.0, 0.01) == 0.0
    assert SpeedFactor().update(StrideMeasures(9.81), 0.0, 0.01) == 0.0  # before anything is measured


@pytest.mark.parametrize(
    ("some", "most", "sign"),
    [
        ({"surge": 0.4}, {"surge": -50.0}, 1.0),
        ({"surge": 1.6}, {"surge": 50.0}, -1.0),
        ({"deflection": 5e-4}, {"deflection": 1.0}, 1.0),
        ({"pitching": 0.04}, {"pitching": 9.0}, -1.0),
    ],
    ids=["less surge", "more surge", "coxae give way", "tossed"],
)
def test_the_way_is_longer_or_shorter_by_a_tenth_at_most(some, most, sign):
    factor = SpeedFactor()
    shares = [sign * factor.update(strides(**measures), 0.0, 0.01) for measures in (some, most)]
    assert 0.005 < shares[0] < shares[1] <= 0.1 and factor.share == sign * shares[1]
    assert -0.2 < SpeedFactor().update(strides(), 10.0, 0.01) < -0.05  # however much it stumbles


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
        rows = SensedWalk("mujoco", truth, seed=3, gait="auto", known=known).log(9.0)
        drifts.append(np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3]))
    assert drifts[1] < 0.6 * drifts[0]
