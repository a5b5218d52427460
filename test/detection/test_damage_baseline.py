"""What is learnt of a healthy robot: its joints, the slope of its ground, and how much is left unexplained."""

import numpy as np
import pytest

from hexapod_dynamics.detection.baseline import Baseline, Regression
from hexapod_dynamics.detection.covariance import covariance
from hexapod_dynamics.detection.scatter import Scatter, kinds_of
from hexapod_dynamics.detection.suspicion import Suspicion
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
KINDS = kinds_of(ROBOT)
NOISE = np.full(21, 1e-3)
UPHILL = np.array([0.03, -0.02])  # [rad] pitch and roll of the slope where the robot faces yaw = 0


def slices(count, seed=0, *, spread=2e-3, turning=0.1, start=0.0):
    """Residuals (21,), loads (18,), headings of slices on a slope, of a robot with servos 10 % softer than the model's.

    The slope is tilted by UPHILL along and across yaw = 0: a body that has turned by yaw is pitched by what lies ahead.
    """
    random = np.random.default_rng(seed)
    for k in range(count):
        yaw = start + turning * k
        load = random.normal(0.0, 0.05, 18)
        pitch = UPHILL[0] * np.cos(yaw) + UPHILL[1] * np.sin(yaw)
        roll = UPHILL[0] * np.sin(yaw) - UPHILL[1] * np.cos(yaw)
        yield np.concatenate([0.1 * load, [roll, pitch, 0.0]]) + random.normal(0.0, spread, 21), load, yaw


def learnt(**options):
    """A Baseline that has used 34 slices."""
    baseline = Baseline(KINDS)
    for residual, load, yaw in slices(40, **options):
        baseline.offer(residual, load, yaw, NOISE)
    return baseline


def test_a_slope_is_known_at_headings_at_which_the_robot_has_not_been():
    baseline = learnt(turning=0.05)
    for yaw in (2.5, -2.0):
        truth, load, _ = next(slices(1, spread=0.0, start=yaw))
        assert baseline.predict(load, np.float64(yaw)) == pytest.approx(truth, abs=6e-3)


def test_what_has_been_learnt_is_no_longer_unknown():
    load, yaw = np.full(18, 0.05), np.float64(1.0)
    assert Baseline(KINDS).unknown(load, yaw) == pytest.approx(np.ones(21))
    assert learnt().unknown(load, yaw).max() < 0.4


@pytest.mark.parametrize("pauses", [False, True])
def test_after_half_an_hour_it_still_knows_its_robot_and_what_it_does_not_know(pauses):
    """The recursion of the covariance became indefinite after minutes in which the robot did not turn, or stood."""
    random, regression = np.random.default_rng(0), Regression(4, np.array([0.3, 4e-3]), 5e-3, 0.985, 0.02)
    rows = np.stack([[0.05, 1.0], [0.0, 1.0], [-0.1, 1.0], [0.02, 0.0]])
    for k in range(5600):
        load = random.normal(0.0, 0.05, 4) * (k // 100 % 2 if pauses else 1.0)
        x = np.stack([load, np.ones(4)], axis=1)
        y = x @ [0.1, 2e-3] + random.normal(0.0, 2e-3, 4)
        regression.learn(np.where(random.random(4) < 0.1, np.nan, y), x)
        assert (regression.unknown(rows) <= 1.0 + 1e-9).all() and (regression.unknown(rows) > 0.0).all()
    assert regression.coefficients == pytest.approx(np.tile([0.1, 2e-3], (4, 1)), abs=0.03)


def test_slices_wait_before_they_are_used_and_can_be_discarded():
    baseline = Baseline(KINDS)
    for residual, load, yaw in slices(6):
        baseline.offer(residual, load, yaw, NOISE)
    baseline.forget_waiting()
    for residual, load, yaw in slices(6):
        baseline.offer(residual, load, yaw, NOISE)
    assert baseline.scatter.weight == 0.0 and not baseline.predict(np.ones(18), np.float64(0.0)).any()


def test_the_covariance_of_rough_ground_shrinks_on_smooth_ground_and_not_without_having_walked_on_it():
    random = np.random.default_rng(1)
    static, rough, unknown = np.zeros((12, 5, 21)), random.normal(0.0, 0.01, (12, 5, 21)), np.ones((5, 21))
    noise = np.full((5, 21), 1e-3)
    new, smooth, wild = (
        covariance(static, rough, noise, unknown, scatter, np.zeros_like(noise)).diagonal()
        for scatter in (Baseline(KINDS).scatter, learnt(spread=1e-3).scatter, learnt(spread=0.02).scatter)
    )
    joints_and_tilt = np.tile(np.arange(21) < 20, 5)  # the yaw rate's floor is nearly as large as this ground's share
    assert (smooth < 0.6 * new)[joints_and_tilt].all() and (smooth < new).all() and (wild > 1.2 * new).all()
    floor = np.tile([*[3e-3] * 18, 2e-3, 2e-3, 8e-3], 5)
    written_out = 1.3 * (rough.reshape(12, -1) ** 2).mean(axis=0) + noise.ravel() ** 2 + floor**2
    assert new == pytest.approx(0.7 * written_out)  # healthy walks leave 0.4 to 0.5 of what it predicts


def test_what_was_not_measured_changes_no_scatter():
    scatter = Scatter(KINDS, np.full(21, 4e-6), 2.0)
    after = scatter.with_slice(np.full(21, np.nan), np.full(21, np.inf), 1.0)
    assert after.squares / after.weight == pytest.approx(scatter.squares / scatter.weight)


@pytest.mark.parametrize("spread", [1e-3, 6e-3])
def test_a_lost_foot_is_suspected_by_what_is_usual_on_its_own_ground(spread):
    """Femurs and tilt change by four times the ground's own scatter: on smooth ground by less than three counts."""
    baseline, suspicion = learnt(spread=spread), Suspicion(18)
    healthy, asked = list(slices(60, seed=3, spread=spread)), []
    for residual, load, yaw in healthy:
        suspicion.look(residual, load, yaw, NOISE, baseline)
        suspicion.is_usual()
        asked.append(suspicion.asks(0.0))
        assert suspicion.learnable
    assert np.mean(asked) < 0.15 and not asked[-1]
    residual, load, yaw = healthy[-1]
    residual = residual.copy()
    residual[[1, 4, 7, 10, 18, 19]] += 4.0 * np.hypot(spread, 2.5e-3)
    suspicion.look(residual, load, yaw, NOISE, baseline)
    assert suspicion.asks(0.0)
    suspicion.found_nothing(1.0, suspicion.value)
    assert not suspicion.asks(1.4) and suspicion.asks(3.0)
    suspicion.forget()  # the robot has other parts now
    assert not suspicion.asks(3.0)
    suspicion.look(residual, load, yaw, NOISE, baseline)
    assert suspicion.asks(3.0)


def test_a_robot_on_an_unknown_slope_teaches_its_baseline_although_it_deviates_but_not_later():
    baseline, suspicion = Baseline(KINDS), Suspicion(18)
    found = []
    for residual, load, yaw in slices(20, turning=0.0):
        residual[18:20] += 0.02
        suspicion.look(residual, load, yaw, NOISE, baseline)
        found.append(suspicion.learnable)
    assert all(found[:12]) and not any(found[12:])
