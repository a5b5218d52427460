"""The fall detector against the simulator's physics: no alarm while walking, half a second at most when it falls."""

import math

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.gait.ground import SlopeReference
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.se3 import rotation_from_vector
from hexapod_dynamics.simulation import Simulator


def watch(simulator, detector, seconds, start=0.0, *, rotation=True):
    """Step the simulator, 100 samples a second with the noise of an MPU6050; return when the detector saw a fall."""
    rng = np.random.default_rng(1)
    for k in range(round(100 * seconds)):
        simulator.step(10)
        force = simulator.specific_force + 0.3 * rng.normal(size=3)
        detector.update(start + 0.01 * k, simulator.rotation if rotation else None, force)
        if detector.fallen:
            return 0.01 * k
    return None


@pytest.mark.parametrize("lost", [(), ("RM",), ("RM", "LM"), ("LF", "RR")], ids=str)
def test_a_robot_that_walks_or_limps_has_not_fallen(lost):
    simulator = Simulator(ROBOT, Morphology.whole(ROBOT).without(*lost), TripodGait())
    detector = FallDetector()
    assert watch(simulator, detector, 6.0) is None
    assert detector.upright


@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_robot_that_lies_on_its_back_is_seen_within_half_a_second(known):
    simulator = Simulator(ROBOT)
    detector = FallDetector()
    assert watch(simulator, detector, 1.5, rotation=known) is None
    simulator.reset(rotation=rotation_from_vector([math.pi, 0.0, 0.0]))
    took = watch(simulator, detector, 2.0, 1.5, rotation=known)
    assert took is not None and took < 0.5
    assert not detector.upright


def test_a_robot_that_is_thrown_over_is_seen_while_it_falls():
    simulator = Simulator(ROBOT)
    detector = FallDetector()
    watch(simulator, detector, 0.5)
    simulator.nu[2:4] = 2.0, 8.0  # up and rolling
    when, over = None, None
    for k in range(200):
        simulator.step(10)
        detector.update(0.5 + 0.01 * k, simulator.rotation, simulator.specific_force)
        over = k if over is None and simulator.rotation[2, 2] < 0.5 else over
        if detector.fallen:
            when = k
            break
    assert over is not None and when is not None and when - over <= 30


def test_it_is_upright_again_only_when_both_witnesses_have_said_so_for_a_second():
    detector, up, down = FallDetector(), np.array([0.0, 0.0, 9.81]), rotation_from_vector([math.pi, 0.0, 0.0])
    times = iter(0.01 * np.arange(1, 2000))

    def feed(count, rotation, force):
        return [detector.update(next(times), rotation, force) for _ in range(count)]

    assert any(feed(50, down, -up))
    assert all(feed(150, down, up))  # an attitude that has not followed yet
    assert all(feed(150, np.eye(3), 0.1 * up))  # being carried: no gravity to be seen
    assert all(feed(95, np.eye(3), up))
    feed(40, np.eye(3), up)
    assert not detector.fallen and detector.upright


def test_a_gap_in_the_data_is_no_time_spent_lying():
    detector, down = FallDetector(), rotation_from_vector([math.pi, 0.0, 0.0])
    force = np.array([0.0, 0.0, -9.81])
    for time in (0.0, 1.0, 2.0, 3.0):
        assert not detector.update(time, down, force)
    assert not detector.update(3.05, down, np.array([0.0, 0.0, math.nan]))
    assert not detector.update(3.04, down, force)  # an old sample


def lean(detector, degrees, level, seconds, start=0.0, *, rotation=True):
    """Feed an attitude of `degrees` of pitch for a time; return whether the robot has fallen."""
    turned = rotation_from_vector([0.0, math.radians(degrees), 0.0])
    for k in range(round(100 * seconds)):
        detector.update(start + 0.01 * k, turned if rotation else None, 9.81 * turned[2], level)
    return detector.fallen


def level_on(degrees, yaw=0.0):
    """What counts as level on a slope that pitches a robot of this heading by `degrees`."""
    slope = SlopeReference()
    slope.sense(0.0, math.radians(degrees), yaw)
    slope.adopt()
    return slope.ground_normal


@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_robot_that_leans_on_a_slope_is_upright_again_after_a_fall(known):
    """Two legs missing lean it by up to 23 degrees; on a slope of 13 degrees it was never upright again."""
    detector, level = FallDetector(), level_on(13.0)
    assert lean(detector, 170.0, level, 0.5, rotation=known)
    assert not lean(detector, 13.0 + 20.0, level, 1.5, 1.0, rotation=known) and detector.upright
    assert detector.tilt == pytest.approx(math.radians(20.0))


@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_fall_up_the_slope_is_one_at_the_same_tilt_against_the_ground(known):
    assert lean(FallDetector(), -50.0, level_on(13.0), 0.5, rotation=known)
    assert not lean(FallDetector(), -50.0, level_on(0.0), 0.5, rotation=known)


def test_what_was_a_fall_on_level_ground_is_one_on_every_slope_and_so_is_upright():
    """A slope learnt before somebody carried the robot elsewhere makes it neither blind nor lame."""
    assert lean(FallDetector(), 62.0, level_on(13.0), 0.5)
    detector, level = FallDetector(), level_on(-15.0)
    assert lean(detector, 170.0, level, 0.5)
    assert not lean(detector, 15.0, level, 1.5, 1.0) and detector.upright


def test_the_level_of_a_slope_turns_with_the_heading():
    slope = SlopeReference()
    assert slope.ground_normal == (0.0, 0.0, 1.0)
    slope.sense(0.0, math.radians(10.0), 0.0)
    slope.adopt()
    for yaw in (0.0, 1.0, 2.5, -2.0):
        turned = rotation_from_vector([0.0, 0.0, yaw]).T @ rotation_from_vector([0.0, math.radians(10.0), 0.0])[:, 2]
        roll = math.asin(-turned[1])
        slope.sense(roll, math.atan2(turned[0], turned[2]), yaw)
        assert slope.ground_normal == pytest.approx((-turned[0], -turned[1], turned[2]), abs=2e-3)
