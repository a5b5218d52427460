"""The attitude filter that is used without vqf: against exact attitudes, on a walk of the simulated robot, at rest."""

import importlib.util
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.allocations import least_growth

from hexapod_dynamics.drivers.imu.attitude import (
    CalibratedImu,
    ComplementaryFilter,
    OrientationFilter,
    VqfFilter,
    make_filter,
)
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_from_quaternion, rotation_from_vector, rotation_vector
from hexapod_dynamics.simulation import Ground, Readings, Simulator

G = 9.80665
WITHOUT_VQF = pytest.mark.skipif(importlib.util.find_spec("vqf") is None, reason="vqf is not installed (arm64)")
MAKERS = [ComplementaryFilter, pytest.param(VqfFilter, marks=WITHOUT_VQF)]
unit = st.floats(-1.0, 1.0)


def tilt_between(first, second):
    """Angle [rad] between the vertical directions of two attitudes (3, 3) world <- chip."""
    return math.acos(min(1.0, float(first[2] @ second[2])))


@given(st.tuples(unit, unit, unit).filter(lambda v: np.linalg.norm(v) > 0.1))
def test_the_first_sample_gives_the_inclination(direction):
    up = np.array(direction) / np.linalg.norm(direction)
    estimate = OrientationFilter(100.0, make=ComplementaryFilter)
    rotation = rotation_from_quaternion(estimate.update(G * up, np.zeros(3), 0.0))
    np.testing.assert_allclose(rotation @ up, [0.0, 0.0, 1.0], atol=2e-6)


def test_without_an_accelerometer_it_integrates_the_rotation_exactly():
    one = ComplementaryFilter(0.01, 3.0, 0.03)
    omega, rotation = np.array([0.5, -1.0, 2.0]), np.eye(3)
    for _ in range(500):
        one.predict(omega)
        rotation = rotation @ rotation_from_vector(0.01 * omega)
    w, x, y, z = one.quaternion
    found = rotation_from_quaternion((x, y, z, w))
    assert np.linalg.norm(rotation_vector(rotation.T @ found)) < 1e-12


@pytest.mark.parametrize(
    ("bias_limit", "offset", "updates", "least", "most"),
    [
        # Far from the start, and with a bias that is held at zero, a wrong attitude is corrected as exp(-t / T).
        pytest.param(0.0, 0.0, 300, 0.97 * 0.1 * math.exp(-1.0), 1.03 * 0.1 * math.exp(-1.0), id="time constant"),
        # Offsets of -2.3 m/s^2 on z are usual: the norm is compared with its own mean, not with gravity.
        pytest.param(0.03, -2.4, 1500, 0.0, 0.01, id="offset of the accelerometer"),
    ],
)
def test_an_error_of_the_inclination_decays(bias_limit, offset, updates, least, most):
    one, force = ComplementaryFilter(0.01, 3.0, bias_limit), np.array([0.0, 0.0, G + offset])
    for _ in range(1000):
        one.update(np.zeros(3), force)
    for _ in range(10):
        one.predict(np.array([1.0, 0.0, 0.0]))  # 0.1 rad that did not happen
    for _ in range(updates):
        one.update(np.zeros(3), force)
    _, x, y, _ = one.quaternion
    assert least <= 2.0 * math.asin(math.hypot(x, y)) < most


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shake, samples", [(80.0, 50), (5.0, 800)])
def test_an_accelerometer_that_is_shaken_or_broken_does_not_tilt_the_attitude(make, shake, samples):
    estimate = OrientationFilter(100.0, make=make)
    for k in range(500 + samples):
        force = np.array([0.0, 0.0, G]) + shake * (k >= 500)
        x, y, _, _ = estimate.update(np.minimum(force, 4.0 * G), np.zeros(3), 0.01 * k)
        assert 2.0 * math.hypot(x, y) < math.radians(3.0)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("period, friction", [(1.3, 0.8), (0.9, 0.4)])
def test_while_walking_the_tilt_is_right_within_a_degree(make, period, friction):
    """40 s of walking and turning on Coulomb ground, noise of the chip, a gyro bias that calibration has left."""
    robot = Robot.jethexa()
    simulator = Simulator(robot, Morphology.whole(robot), ground=Ground(friction=friction))
    gait = TripodGait(period=period).bind(robot)
    simulator.reset(joints=gait.position.copy())
    readings = Readings(simulator, seed=3)
    bias, estimate = np.array([0.004, -0.003, 0.002]), OrientationFilter(100.0, make=make)
    worst, moved = 0.0, 0.0
    for k in range(4000):
        if k % 2 == 0:
            t = 0.01 * k
            gait.command(0.0 if t < 2.0 else 0.077, 0.0, 0.2 * math.sin(0.3 * t))
            simulator.command(gait.step(0.02)[0].copy(), 0.02)
        simulator.step(10)
        force, rate = readings.imu()
        found = rotation_from_quaternion(estimate.update(force, rate + bias, 0.01 * k))
        if k > 300:
            worst = max(worst, tilt_between(found, simulator.rotation))
            moved = max(moved, float(np.linalg.norm(simulator.position[:2])))
    assert moved > 0.5
    assert worst < math.radians(1.0)


@pytest.mark.parametrize("make", MAKERS)
def test_at_rest_the_bias_of_all_axes_is_found(make):
    rng, bias = np.random.default_rng(0), np.array([0.01, -0.008, 0.012])
    estimate = OrientationFilter(100.0, make=make)
    for k in range(3000):
        estimate.update(rng.normal([0, 0, G], 0.03), bias + rng.normal(0, 7e-4, 3), 0.01 * k)
        if k == 450:  # 3 s after it was found to be at rest
            np.testing.assert_allclose(estimate.estimator.bias, bias, atol=1e-3)
    assert estimate.estimator.at_rest
    np.testing.assert_allclose(estimate.estimator.bias, bias, atol=5e-4)
    for k in range(100):
        estimate.update(rng.normal([0, 0, G], 0.03), bias + [0.3 * math.sin(0.2 * k), 0, 0], 30.0 + 0.01 * k)
    assert not estimate.estimator.at_rest


@pytest.mark.parametrize("vqf", [pytest.param(True, marks=WITHOUT_VQF), False])
def test_a_gyro_that_drifts_beyond_the_limit_of_the_bias_is_followed_at_rest(monkeypatch, vqf):
    if not vqf:
        monkeypatch.setitem(sys.modules, "vqf", None)
    imu, rng = CalibratedImu(25.0, np.eye(3), 3.0, True, None, print), np.random.default_rng(0)
    for t in np.arange(0.0, 250.0, 0.04).tolist():  # to 4 degrees a second: 25 K of the worst MPU6050
        drift = math.radians(0.016) * t * np.array([1.0, -0.5, 1.0])
        force, rate = rng.normal([0, 0, G], 0.03), drift + rng.normal(0, 7e-4, 3)
        _, left, quaternion = imu.accept(force, rate, t)
    assert tilt_between(rotation_from_quaternion(quaternion), np.eye(3)) < math.radians(1.0)
    assert np.abs(left).max() < math.radians(0.4)


def test_a_bias_beyond_its_limit_is_not_believed():
    one = ComplementaryFilter(0.01, 3.0, math.radians(2.0))
    for _ in range(6000):
        one.update(np.array([0.0, 0.0, 0.3]), np.array([0.0, 0.0, G]))
    assert not one.at_rest and abs(one.bias[2]) < 1e-12, "turning at 17 deg/s is no offset"


def test_free_fall_is_survived():
    one = ComplementaryFilter(0.01, 3.0, 0.03)
    for force in (np.zeros(3), np.array([0.0, 0.0, G]), np.zeros(3)):
        one.update(np.zeros(3), force)
    assert one.quaternion == pytest.approx((1.0, 0.0, 0.0, 0.0))


def test_an_update_keeps_no_memory():
    one, gyro, accel = ComplementaryFilter(0.01, 3.0, 0.03), np.array([0.01, 0.0, 0.1]), np.array([0.1, 0.2, G])
    assert least_growth(lambda: one.update(gyro, accel)) <= 100


def test_vqf_is_taken_where_it_is_and_the_other_names_itself(monkeypatch, tmp_path):
    if importlib.util.find_spec("vqf") is not None:
        assert make_filter(0.01, 3.0, 0.03).name == "VQF"
    monkeypatch.setitem(sys.modules, "vqf", None)  # importing it raises ImportError
    imu = CalibratedImu(100.0, np.eye(3), 3.0, True, tmp_path / "offsets.json", print)
    assert "vqf is not installed" in imu.filter_name and imu.figures()["attitude filter"] == imu.filter_name
    for k in range(150):
        _, _, quaternion = imu.accept((0.0, 0.0, G), (0.02, 0.0, 0.0), 0.01 * k)
    assert imu.calibrated
    np.testing.assert_allclose(np.abs(quaternion), [0.0, 0.0, 0.0, 1.0], atol=0.01)
