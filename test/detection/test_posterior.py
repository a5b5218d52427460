"""Posterior of damage: what a hypothesis predicts is uncertain too, in size and in the moment of the onset."""

import numpy as np
import pytest

from hexapod_dynamics.detection.hypotheses import of_answering_servos
from hexapod_dynamics.detection.posterior import posterior_of
from hexapod_dynamics.robot import Morphology, Robot

SLICES, FEATURES = 3, 6
NOISE = np.full((SLICES, FEATURES), 0.5)
PRIOR = np.array([-5.0, -5.0])


def covariance(seed):
    """A covariance with correlations between all features."""
    a = np.random.default_rng(seed).normal(0.0, 0.4, (SLICES * FEATURES,) * 2)
    return a @ a.T / len(a) + np.eye(len(a))


def gaussian(x, mean, cov):
    """Log density without the constant."""
    r = x - mean
    return -0.5 * (r @ np.linalg.solve(cov, r) + np.linalg.slogdet(cov)[1])


def test_log_odds_are_those_of_gaussians_with_uncertain_predictions_written_out():
    random = np.random.default_rng(1)
    x = random.normal(0.0, 1.0, (SLICES, FEATURES))
    deviations = random.normal(0.0, 3.0, (2, SLICES, FEATURES))
    cov = covariance(2)
    posterior = posterior_of(x, NOISE, cov, deviations, PRIOR)
    flat = x.ravel()
    chi, gain, tilt = (np.zeros((2, SLICES)) for _ in range(3))
    for h in range(2):
        for k in range(SLICES):
            mean, own = np.zeros((SLICES, FEATURES)), cov.copy()
            for piece in range(k, SLICES):
                mu = np.zeros((SLICES, FEATURES))
                mu[piece] = deviations[h, piece]
                mean[piece] = (0.6 if piece == k else 1.0) * mu[piece]
                share = 0.35 if piece == k else 0.3
                own += share**2 * np.outer(mu, mu) + np.diag((0.3 * mu.ravel()) ** 2)
                # A body that tips slips: its yaw rate is uncertain by 3 /s times the tilt (roll, pitch, yaw rate last).
                yaw_rate = FEATURES * piece + FEATURES - 1
                own[yaw_rate, yaw_rate] += 3.0**2 * (mu[piece, -3] ** 2 + mu[piece, -2] ** 2)
            r = flat - mean.ravel()
            chi[h, k] = r @ np.linalg.solve(own, r)
            gain[h, k] = gaussian(flat, mean.ravel(), own) - gaussian(flat, 0.0, cov)
            for piece in range(k, SLICES):  # of roll and pitch, given all features before them
                roll = FEATURES * piece + FEATURES - 3
                for sign, n in ((-1.0, roll), (1.0, roll + 2)):
                    ratio = gaussian(flat[:n], mean.ravel()[:n], own[:n, :n]) - gaussian(flat[:n], 0.0, cov[:n, :n])
                    tilt[h, k] += sign * ratio
            if np.sum(x[k:, -3:-1] * deviations[h, k:, -3:-1]) < 0.0:  # it leans against the prediction
                undue = max(tilt[h, k], 0.0)
                chi[h, k], gain[h, k], tilt[h, k] = chi[h, k] + 2 * undue, gain[h, k] - undue, tilt[h, k] - undue
    total = flat @ np.linalg.solve(cov, flat)
    temper = max(0.3, min(total, chi.min()) / flat.size)
    wanted = np.log(np.exp(gain / temper).mean(axis=1)) + PRIOR
    assert posterior.log_odds == pytest.approx(wanted, rel=1e-7, abs=1e-7)
    assert posterior.misfit == pytest.approx(chi[[0, 1], gain.argmax(axis=1)] / flat.size, rel=1e-7)
    assert posterior.misfit_declared == pytest.approx(total / flat.size, rel=1e-9)
    assert posterior.tilt == pytest.approx(tilt[[0, 1], gain.argmax(axis=1)], rel=1e-7, abs=1e-7)


def test_a_leg_whose_tilt_fits_but_for_its_size_wins_over_one_whose_yaw_rate_alone_fits_by_accident():
    right, wrong = np.zeros((2, SLICES, FEATURES))
    right[2], wrong[2] = [8.0, -8.0, 6.0, -30.0, 1.0, -50.0], [1.0, -6.0, 8.0, 25.0, -40.0, -25.0]
    x = 0.5 * right  # the damage happened in the middle of the last slice
    posterior = posterior_of(x, NOISE, covariance(3), np.array([right, wrong]), PRIOR)
    assert posterior.probability[0] > 0.99 and posterior.onset[0] == 2
    assert posterior.misfit[0] < posterior.misfit[1]


def test_a_tilt_against_the_predicted_one_explains_nothing():
    """Two feet of the left side were lost, and two of the right declared: without this rule, both gain 100 here."""
    left = np.zeros((SLICES, FEATURES))
    left[1:, -3] = -30.0
    right = -left
    x = 0.5 * left
    x[:, 0] = right[:, 0] = 4.0  # a joint that the right side explains better
    posterior = posterior_of(x, NOISE, covariance(6), np.array([left, right]), PRIOR)
    assert posterior.probability[0] > 0.99 and posterior.tilt[0] > 100.0
    assert posterior.tilt[1] <= 0.0 and posterior.misfit[1] > 5.0 * posterior.misfit[0]


def test_what_was_not_measured_counts_for_nothing():
    noise = NOISE.copy()
    noise[1], noise[2, 3] = np.inf, np.inf
    random = np.random.default_rng(4)
    x, deviations = random.normal(0.0, 1.0, (SLICES, FEATURES)), random.normal(0.0, 3.0, (2, SLICES, FEATURES))
    one = posterior_of(x, noise, covariance(5), deviations, PRIOR)
    x[1], x[2, 3], deviations[:, 1] = 100.0, -50.0, 7.0
    other = posterior_of(x, noise, covariance(5), deviations, PRIOR)
    assert one.log_odds == pytest.approx(other.log_odds)


def test_the_bank_has_limp_joints_three_stumps_of_each_tibia_and_the_pairs_of_legs():
    robot = Robot.jethexa()
    whole = Morphology.whole(robot)
    found = of_answering_servos(robot, whole)
    assert len(found) == 18 + 18 + 15 and len({one.name for one in found}) == len(found)
    assert {one.kind for one in found} == {"limp", "short"}
    for one in found:
        changed = one.applied(whole)
        legs = {leg.name for leg in robot.legs for link in leg.links if changed.remaining(leg.name, link.name) < 1.0}
        assert legs == (set(one.leg.split("+")) if one.kind == "short" else set())
    assert not any("RM" in one.leg for one in of_answering_servos(robot, whole.without("RM")))
