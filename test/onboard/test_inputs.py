"""The conversion of values with joint names: order, strangers, repetition, too few values, NaN. That of IMU samples:
NaN, other units, what is not given; what a fall detector makes of it; the noise that is simulated.
"""

import math
import random
import time
import tracemalloc
from functools import partial

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.onboard.inputs import (
    POSITION_MARGIN,
    SPEED_MARGIN,
    Faults,
    ImuInput,
    JointInput,
    SourceCheck,
    SourceLock,
    find_stamp_refusal,
)
from hexapod_dynamics.onboard.simulation import GyroscopeOffset
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_vector

NAMES = list(ROBOT.joint_names)
ANGLES = [0.01 * k for k in range(18)]


@pytest.fixture
def joints():
    return JointInput(ROBOT, Faults())


def row(joints, names, values, **more):
    return joints.arrange_message("joint_states", names, values, **more)


def test_any_order_and_any_part_of_the_joints_is_read(joints):
    order = list(range(18))
    random.Random(1).shuffle(order)
    assert np.array_equal(row(joints, [NAMES[k] for k in order], [ANGLES[k] for k in order]), ANGLES)
    out = row(joints, NAMES[3:6], ANGLES[3:6])
    assert np.array_equal(out[3:6], ANGLES[3:6]) and np.isnan(np.delete(out, [3, 4, 5])).all()
    assert not joints.faults.counts()


@pytest.mark.parametrize("values", [ANGLES[:-1], [*ANGLES, 0.0], []], ids=["too few", "too many", "none"])
def test_another_number_of_values_than_of_names_is_rejected_as_a_whole(joints, values):
    assert row(joints, NAMES, values) is None
    assert joints.read("joint_states", NAMES, values) is None
    assert f"18 names and {len(values)} values" in joints.faults.list_recent(0.0)[0]


@pytest.mark.parametrize("repeated", [(0,), (5, 5), (17, 2)])
def test_a_joint_that_is_named_twice_is_left_out_and_named_the_others_are_read(joints, repeated):
    names, values = NAMES + [NAMES[k] for k in repeated], ANGLES + [1.0] * len(repeated)
    assert set(np.flatnonzero(np.isnan(row(joints, names, values)))) == set(repeated)
    assert {each.joint for each in joints.read("joint_states", names, values)} == set(range(18)) - set(repeated)
    assert "more than once" in joints.faults.list_recent(0.0)[0]
    assert "more than once" in joints.command_refusal(names, [0.0] * len(names))


@pytest.mark.parametrize(
    ("publishers", "rate", "other_rate", "other", "found"),
    [
        (2, 50.0, 50.0, 0.05, True),
        (2, 50.0, 10.0, -0.4, True),
        (2, 20.0, 20.0, 0.05, True),
        (1, 50.0, 50.0, 0.05, False),  # a bad sensor, not a second driver
        (2, 50.0, 50.0, 0.01, False),  # two that agree
        (2, 20.0, 0.0, 0.0, False),  # the other publishes other joints
    ],
)
def test_two_publishers_that_contradict_each_other_are_named(monkeypatch, publishers, rate, other_rate, other, found):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    faults = Faults()
    sources = SourceCheck(faults, lambda topic: ["/driver", "/gui"][:publishers])
    joints = JointInput(ROBOT, faults, sources)
    events = [(k / rate, 0.0) for k in range(int(4 * rate))] + [
        (k / (other_rate or 1) + 1e-3, other) for k in range(int(4 * other_rate))
    ]
    for now, off in sorted(events):
        angles = 0.4 * np.sin(2.0 * np.pi * 1.5 * now + np.arange(18)) + off
        joints.read("joint_states", NAMES, angles.tolist(), measured=True)
    said = joints.faults.list_recent(now)
    assert said == [] if not found else "is at two places in turn, /driver and /gui contradict each other" in said[0]


def test_joints_of_others_are_a_fault_only_where_they_do_not_belong(joints):
    names, values = ["pan", *NAMES, "wheel"], [9.0, *ANGLES, 9.0]
    assert np.array_equal(row(joints, names, values, others=True), ANGLES) and not joints.faults.counts()
    row(joints, names, values)
    assert "'pan', which this robot has not" in joints.faults.list_recent(0.0)[0]
    assert "'pan' is not one of this robot" in joints.command_refusal(names, values)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_left_out_and_named(joints, bad):
    values = [*ANGLES[:4], bad, *ANGLES[5:]]
    assert list(np.flatnonzero(np.isnan(row(joints, NAMES, values)))) == [4]
    assert len(joints.read("joint_states", NAMES, values)) == 17
    assert f"not finite for {NAMES[4]}" in joints.faults.list_recent(0.0)[0]


@pytest.mark.parametrize("far", [90.0, -1e300])
def test_measured_angles_that_no_joint_can_have_are_left_out_and_named(joints, far):
    values = [*ANGLES[:4], far, *ANGLES[5:]]
    read = partial(joints.read, "joint_states", measured=True)
    assert [joint for joint, _, _ in read(NAMES, values)] == [*range(4), *range(5, 18)]
    assert f"for {NAMES[4]}, whose limits are" in joints.faults.list_recent(0.0)[0]
    assert "are these degrees" in joints.faults.list_recent(0.0)[0]
    beyond = ROBOT.joints[4].upper + 1.0  # a joint that is bent beyond its stop is measured there
    assert read(NAMES[4:5], [beyond]) == [(4, beyond, 0.0)]
    assert row(joints, NAMES, values)[4] == far  # torques, for example, have other limits


def test_measurements_have_a_time_for_each_joint(joints):
    names, ages = NAMES[:3], [0.02, 0.013, 0.0]
    found = joints.read("servos/measurements", names, ANGLES[:3], ages)
    assert found == [(0, 0.0, 0.02), (1, 0.01, 0.013), (2, 0.02, 0.0)]
    assert [age for _, _, age in joints.read("servos/measurements", names, ANGLES[:3])] == [0.0] * 3


@pytest.mark.parametrize("bad", [-0.1, 5.0, math.nan, math.inf])
def test_an_age_that_cannot_be_is_left_out_and_named(joints, bad):
    found = joints.read("servos/measurements", NAMES[:2], ANGLES[:2], [bad, 0.0])
    assert [joint for joint, _, _ in found] == [1]
    assert f"{NAMES[0]} was read" in joints.faults.list_recent(0.0)[0]
    assert joints.read("servos/measurements", NAMES[:2], ANGLES[:2], [0.0]) is None


@pytest.mark.parametrize("count, length", [(2000, 10), (3, 50_000)], ids=["many names", "long names"])
def test_giant_names_that_are_always_others_need_no_memory(joints, count, length):
    tracemalloc.start()
    for k in range(60):
        names = [f"{k} {j} ".ljust(length, "x") for j in range(count)]
        assert joints.read("joint_states", names, [0.0] * count, others=True) == []
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 6e5  # bytes; all of them together have more than ten times as many


def test_a_fault_that_quotes_a_giant_name_is_one_short_line(joints):
    joints.read("joint_states", ["y\n" * 50_000], [0.0])
    (fault,) = joints.faults.list_recent(0.0)
    assert "joint_states names the joint" in fault and len(fault) < 400
    assert len(joints.command_refusal(["x" * 50_000], [0.0])) < 600


UPPER = np.array([joint.upper for joint in ROBOT.joints])
refusal = JointInput(ROBOT, Faults()).command_refusal


def test_what_the_joints_can_do_is_accepted():
    assert refusal(NAMES, np.zeros(18), np.zeros(18)) == ""
    assert refusal(NAMES, UPPER + 0.99 * POSITION_MARGIN) == ""
    assert refusal(NAMES[:2], [0.1, math.nan], [math.nan, 1.0]) == "", "NaN asks nothing of a joint"
    assert refusal(NAMES[:0], []) == ""


@pytest.mark.parametrize("value", [1e308, -1e308, math.inf, -math.inf, 2.6])
def test_one_position_far_beyond_refuses_the_whole_command_and_is_named(value):
    reason = refusal(NAMES[3:6], [0.0, value, 0.0])
    assert "femur_joint_LM" in reason and f"{value:.6g} rad" in reason and str(POSITION_MARGIN) in reason


@pytest.mark.parametrize("value", [1e300, -1e300, math.inf, 1.01 * SPEED_MARGIN * ROBOT.servo.speed_limit])
def test_one_velocity_far_beyond_refuses_the_whole_command_and_is_named(value):
    reason = refusal(NAMES, np.zeros(18), np.r_[np.zeros(17), value])
    assert "tibia_joint_RF" in reason and "rad/s" in reason


def test_as_many_values_as_joints_are_needed():
    assert "18 joints and 1 positions" in refusal(NAMES, [0.0])
    assert "18 joints and 2 velocities" in refusal(NAMES, np.zeros(18), [0.0, 0.0])


def test_old_and_future_stamps_are_refused():
    assert find_stamp_refusal(0.29, 0.3) == find_stamp_refusal(-0.29, 0.3) == ""
    assert "3.6e+03 s old" in find_stamp_refusal(3600.0, 0.3)
    assert "in the future" in find_stamp_refusal(-3600.0, 0.3)


def test_one_source_at_a_time():
    one = SourceLock(0.3)
    sources = [("gait 1", 10.0), ("gait 2", 10.1), ("gait 1", 10.2), ("", 10.49), ("gait 2", 10.51), ("gait 1", 10.6)]
    refusals = [one.find_refusal(*source) for source in sources]
    assert [bool(refusal) for refusal in refusals] == [False, True, False, True, False, True]
    assert "'gait 2' is not followed, 'gait 1' is" in refusals[1] and "'one without a name' is not" in refusals[3]


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


def allan_deviation(samples, period, duration):
    """Allan deviation of samples (N,) over means of `duration` [s]."""
    count = round(duration / period)
    means = samples[: len(samples) // count * count].reshape(-1, count).mean(axis=1)
    return np.sqrt(0.5 * np.mean(np.diff(means) ** 2))


def test_beside_the_recorded_white_noise_the_allan_deviation_is_the_recorded_one():
    period, white = 0.1, 0.0126  # [s]; [deg/s] at 1 s
    offsets = [GyroscopeOffset(np.random.default_rng(seed), period) for seed in range(4)]
    samples = np.degrees([[offset.sample() for _ in range(6000)] for offset in offsets])
    samples += white / np.sqrt(period) * np.random.default_rng(9).normal(size=samples.shape)
    for duration, recorded in ((1.0, 0.0126), (10.0, 0.0057), (60.0, 0.0031)):
        found = np.mean([allan_deviation(samples[k, :, axis], period, duration) for k in range(4) for axis in range(3)])
        assert found == pytest.approx(recorded, rel=0.2), duration
