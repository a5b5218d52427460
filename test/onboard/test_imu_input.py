"""The conversion of IMU samples: NaN, other units, what is not given; and what a fall detector makes of it."""

import math

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.onboard.inputs import Faults, ImuInput
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_vector

CHIP = ROBOT.imu.rotation
LEVEL = quaternion_from_rotation(CHIP)
AT_REST = CHIP.T @ [0.0, 0.0, 9.81]
STILL = np.zeros(3)
NAN = math.nan


@pytest.fixture
def faults():
    return Faults()


def read(faults, *sample, now=1.0):
    return ImuInput(CHIP, faults).read(now, *sample)


def test_a_sample_is_turned_into_base_link_axes(faults):
    turn = rotation_from_vector([0.1, -0.2, 0.3])
    reading = read(faults, quaternion_from_rotation(turn @ CHIP), CHIP.T @ [1.0, 2.0, 9.0], CHIP.T @ [0.1, 0.2, 0.3])
    assert np.allclose(reading.rotation, turn)
    assert np.allclose(reading.force, [1.0, 2.0, 9.0]) and np.allclose(reading.rate, [0.1, 0.2, 0.3])
    assert np.allclose(reading.chip_force, CHIP.T @ [1.0, 2.0, 9.0])
    assert not faults.counts()


@pytest.mark.parametrize(
    "sample, lost, said",
    [
        ((LEVEL, [NAN, 0.0, 9.8], STILL), "force", "linear_acceleration has a value that is not finite"),
        ((LEVEL, [0.0, math.inf, 9.8], STILL), "force", "linear_acceleration has a value that is not finite"),
        ((LEVEL, AT_REST, [0.0, 0.0, NAN]), "rate", "angular_velocity has a value that is not finite"),
        (([NAN, 0.0, 0.0, 1.0], AT_REST, STILL), "rotation", "no rotation"),
        (([0.0, 0.0, 0.0, 0.0], AT_REST, STILL), "rotation", "no rotation"),
        ((LEVEL, [0.0, 0.0, 981.0], STILL), "force", "REP-145 wants m/s"),
        ((LEVEL, AT_REST, [0.0, 90.0, 0.0]), "rate", "REP-145 wants rad/s"),
    ],
)
def test_what_is_no_number_or_impossible_is_left_out_named_and_counted_and_the_rest_is_used(faults, sample, lost, said):
    reading = read(faults, *sample)
    given = {name: getattr(reading, name) is not None for name in ("rotation", "force", "rate")}
    assert given == {name: name != lost for name in given}
    assert said in faults.list_recent(1.0)[0] and list(faults.counts().values()) == [1]
    assert not faults.list_recent(10.0)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_what_is_not_given_is_no_fault(faults, lost):
    sample = [LEVEL, AT_REST, STILL]
    sample[lost] = None
    reading = read(faults, *sample)
    assert [reading.rotation is None, reading.force is None, reading.rate is None] == [k == lost for k in range(3)]
    assert not faults.counts()


@pytest.mark.parametrize(
    "force, rate, lost, said",
    [
        (AT_REST / 9.81, STILL, "force", "REP-145 wants m/s^2 with gravity"),  # in g
        (STILL, STILL, "force", "REP-145 wants m/s^2 with gravity"),  # gravity subtracted
        (AT_REST, np.array([0.0, 0.0, 20.0]), "rate", "REP-145 wants rad/s"),  # a slow turn in degrees a second
    ],
)
def test_other_units_are_recognised_by_their_mean_within_seconds(faults, force, rate, lost, said):
    imu = ImuInput(CHIP, faults)
    readings = [imu.read(0.01 * k, LEVEL, force, rate) for k in range(400)]
    assert getattr(readings[0], lost) is not None and getattr(readings[-1], lost) is None
    assert said in faults.list_recent(4.0)[0]


def test_a_robot_that_is_shaken_and_thrown_for_a_moment_is_no_other_unit(faults):
    imu, rng = ImuInput(CHIP, faults), np.random.default_rng(0)
    for k in range(1000):
        thrown = 300 < k < 360  # free fall of 0.6 s
        force = STILL if thrown else AT_REST + rng.normal(size=3) * 5.0
        assert imu.read(0.01 * k, LEVEL, force, rng.normal(size=3) * 3.0).force is not None
    assert not faults.counts()


@pytest.mark.parametrize("bad", [(NAN, 0.0, 9.81), (0.0, 0.0, math.inf), (NAN, NAN, NAN)])
@pytest.mark.parametrize("known", [True, False], ids=["attitude", "force alone"])
def test_a_sample_that_is_not_finite_neither_makes_a_fall_permanent_nor_hides_one(bad, known):
    """Row 3: each tenth sample is bad; the robot falls over, lies, and is put upright."""
    detector = FallDetector()
    upright, over = np.eye(3), rotation_from_vector([math.pi, 0.0, 0.0])

    def feed(rotation, begin, seconds):
        for k in range(round(100 * seconds)):
            force = bad if k % 10 == 3 else rotation.T @ [0.0, 0.0, 9.81]
            detector.update(begin + 0.01 * k, rotation if known else None, force)

    feed(upright, 0.0, 2.0)
    assert not detector.fallen and detector.upright
    feed(over, 2.0, 1.0)
    assert detector.fallen
    feed(upright, 3.0, 2.5)
    assert not detector.fallen and detector.upright


def test_a_fall_is_seen_by_the_attitude_alone_without_any_force():
    detector = FallDetector()
    for k in range(100):
        detector.update(0.01 * k, rotation_from_vector([2.0, 0.0, 0.0]) if k > 50 else np.eye(3), None)
    assert detector.fallen


@pytest.mark.parametrize("drift, said", [(0.02, "2.0 % faster"), (-0.02, "2.0 % slower"), (0.001, "")])
def test_an_imu_whose_clock_runs_at_another_speed_is_named(faults, drift, said):
    imu, rng = ImuInput(CHIP, faults), np.random.default_rng(0)
    for k in range(2000):
        now = 0.01 * k
        imu.check_clock(now, 0.003 - drift * now + rng.exponential(0.004) + 0.2 * (400 < k < 420))
    assert faults.counts() == ({"faults of imu/data clock": 1} if said else {})
    assert said in faults.last("imu/data clock")


def test_a_clock_that_is_set_once_does_not_run_at_another_speed(faults):
    imu = ImuInput(CHIP, faults)
    for k in range(4000):
        imu.check_clock(0.01 * k, 0.003 + 0.3 * (k > 1500))
    assert not faults.counts()
