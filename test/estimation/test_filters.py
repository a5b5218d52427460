"""Filters: they find what is constant, ignore what is old, and start anew when the sensor does."""

import numpy as np
import pytest

from hexapod_dynamics.estimation.filters import AttitudeFilter, JointFilter, TimedBuffer
from hexapod_dynamics.se3 import euler_zyx, rotation_from_vector, rotation_z


def test_memory_interpolates_and_keeps_to_its_ends():
    buffer = TimedBuffer((2,), size=8)
    for k in range(20):
        buffer.add(0.1 * k, np.array([k, 2.0 * k]))
    np.testing.assert_allclose(buffer.interpolate(1.55), [15.5, 31.0], atol=1e-9)
    np.testing.assert_array_equal(buffer.interpolate(9.0), [19, 38])
    np.testing.assert_array_equal(buffer.interpolate(0.0), [12, 24])  # the oldest of eight
    for time in (1.55, 9.0, 0.0, 1.9):
        assert buffer.interpolate_element(time, 1) == buffer.interpolate(time)[1]


STILL = np.zeros(3)


def measure(joints, time, measured, modelled, rates):
    """Give a JointFilter the readings of all joints that are not NaN; which of them were new."""
    return [
        bool(np.isfinite(angle)) and joints.measure(time, j, float(angle), float(modelled[j]), float(rates[j]))
        for j, angle in enumerate(measured)
    ]


def test_a_constant_offset_of_a_joint_is_found_with_the_stated_time_constant():
    joints = JointFilter(3, gain=2.0)
    truth = np.array([0.05, -0.1, 0.0])
    for k in range(101):  # 1 s at 100 Hz, each value new
        setpoint = 0.3 * np.sin(k * 0.05) * np.ones(3)
        measure(joints, k * 0.01, setpoint + truth, setpoint + joints.offsets, STILL)
    np.testing.assert_allclose(joints.offsets, truth * (1 - np.exp(-2.0)), rtol=0.02, atol=1e-12)


def test_a_joint_that_turns_fast_is_believed_less():
    joints, rate = JointFilter(2, gain=2.0), np.array([0.0, 0.4])
    for k in range(2):
        measure(joints, 0.1 * k, np.full(2, 0.1 + k), np.full(2, k), rate)
    np.testing.assert_allclose(joints.offsets, 2.0 * 0.1 * 0.1 * np.array([1.0, 0.2]))


def test_counts_and_wrong_times_shift_offsets_by_less_than_a_count():
    joints, count, rng = JointFilter(1), np.deg2rad(0.24), np.random.default_rng(4)
    offsets = []
    for k in range(400):  # read at 5 Hz, up to 20 ms before the stamp
        t = 0.2 * k
        old = 0.3 * np.sin(4.8 * (t - rng.uniform(0.0, 0.02)))
        modelled, rate = 0.3 * np.sin(4.8 * t) + joints.offsets, 0.3 * 4.8 * np.cos(4.8 * t)
        measure(joints, t, np.round(np.array([old]) / count) * count, modelled, np.array([rate]))
        offsets.append(joints.offsets[0])
    assert np.abs(offsets).max() < count
    assert abs(np.mean(offsets)) < 0.25 * count


def test_a_measurement_counts_once_by_its_time_whatever_its_value():
    joints = JointFilter(2)

    def new(time, *angles):
        return measure(joints, time, np.array(angles), np.zeros(2), np.zeros(2))

    assert new(0.02, 0.1, np.nan) == [True, False]
    assert new(0.02, 0.1, 0.3) == [False, True]
    assert new(0.01, 0.2, 0.2) == [False, False]
    assert new(0.04, 0.1, np.nan) == [True, False]  # the same value, measured again
    np.testing.assert_array_equal(joints.latest, [0.1, 0.3])


def test_a_joint_that_is_not_heard_keeps_its_offset_and_the_limit_holds():
    joints = JointFilter(2, gain=5.0, limit=0.2)
    for k in range(200):
        measure(joints, k * 0.01, np.array([np.nan, 1.0 + 1e-6 * k]), np.zeros(2), np.zeros(2))
    assert joints.offsets[0] == 0.0 and np.isnan(joints.latest[0])
    assert joints.offsets[1] == 0.2


def test_the_body_is_turned_to_the_imus_tilt_whatever_the_imus_yaw_origin():
    attitude, model = AttitudeFilter(tilt_gain=2.0, yaw_gain=2.0), np.eye(3)
    measured = rotation_z(2.5) @ rotation_from_vector([0.1, -0.05, 0.0])
    for k in range(300):
        model = rotation_from_vector(attitude.measure(0.01 * k, measured, model)) @ model
    expected = rotation_z(-2.5) @ measured
    np.testing.assert_allclose(euler_zyx(model)[1:], euler_zyx(expected)[1:], atol=3e-4)
    assert abs(euler_zyx(model)[0]) < 0.01


def test_yaw_follows_the_gyro_and_survives_a_restart_of_the_imu():
    attitude, model, yaw = AttitudeFilter(yaw_gain=5.0), np.eye(3), 0.0
    for k in range(600):
        yaw += 0.002
        origin = 0.7 if k < 300 else -1.9  # the node was started again: another origin
        model = rotation_from_vector(attitude.measure(0.01 * k, rotation_z(yaw + origin), model)) @ model
    # Following a ramp of 0.2 rad/s at 5 / s lags by 0.04 rad; the restart adds what the lag was worth, once.
    assert euler_zyx(model)[0] == pytest.approx(yaw, abs=0.1)
    assert attitude.alignments == 2


def test_after_a_silence_the_yaw_is_aligned_again():
    attitude = AttitudeFilter()
    attitude.measure(0.0, rotation_z(0.0), rotation_z(0.2))
    assert np.abs(attitude.measure(0.01, rotation_z(0.0), rotation_z(0.2))).max() < 1e-12
    assert np.abs(attitude.measure(5.0, rotation_z(0.1), rotation_z(1.0))).max() == 0.0
    assert attitude.alignments == 2
