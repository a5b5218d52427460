"""Commands to come: a gait is continued, a stop is held, a gap is bridged."""

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.servo_commands import DECAY, CommandHistory
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot

WIDTH, PERIOD = 18, 0.02


def gait(t, cycle=1.3):
    """A motion with two harmonics and a phase for each joint; rows for the times t."""
    phase = 2 * np.pi * np.atleast_1d(t)[:, None] / cycle + np.arange(WIDTH) * np.pi
    return 0.3 * np.sin(phase) + 0.1 * np.cos(2 * phase)


def filled(motion, seconds):
    history = CommandHistory(WIDTH, period=PERIOD)
    for k in range(round(seconds / PERIOD)):
        history.append(k * PERIOD, motion(k * PERIOD)[0])
    return history, (round(seconds / PERIOD) - 1) * PERIOD


@pytest.mark.parametrize("cycle", [0.7, 1.0, 1.3, 1.337, 2.9])
def test_a_periodic_motion_is_continued_over_the_horizon(cycle):
    history, now = filled(lambda t: gait(t, cycle), 4.5)
    assert history.lag == pytest.approx(cycle, abs=0.002)
    ahead = np.linspace(0.0, 0.5, 26)
    # A lag between two samples is interpolated linearly: the error is the curvature's, at most 8e-4 rad here.
    np.testing.assert_allclose(history.forecast(ahead), gait(now + ahead, cycle), atol=4e-3)


@pytest.mark.parametrize("lost, period", [((), 0.77), ((), 1.01), (("RM",), 1.1899)])
def test_a_quick_step_between_two_rows_is_found_after_one_period(lost, period):
    robot = Robot.jethexa()
    walk = AdaptiveGait(period=period).bind(robot, Morphology.whole(robot).without(*lost))
    walk.command(0.077, 0.0, 0.0)
    history = CommandHistory(WIDTH, period=PERIOD)
    for k in range(300):
        history.append(k * PERIOD, walk.step(PERIOD)[0])
        if k > 250:
            assert history.lag == pytest.approx(period, abs=0.002)


def test_a_continuation_longer_than_the_period_goes_round_again():
    history, now = filled(lambda t: gait(t, 0.5), 4.5)
    ahead = np.linspace(0.0, 1.4, 30)
    np.testing.assert_allclose(history.forecast(ahead), gait(now + ahead, 0.5), atol=0.02)


def test_standing_is_continued_by_standing():
    history, _ = filled(lambda t: np.full((1, WIDTH), 0.4), 3.0)
    assert history.lag is None
    np.testing.assert_array_equal(history.forecast([0.0, 0.25, 0.5]), np.full((3, WIDTH), 0.4))


def test_an_unmatched_motion_goes_on_with_a_rate_that_dies_away():
    history, now = filled(lambda t: np.full((1, WIDTH), 0.2 * t), 3.0)
    assert history.lag is None
    ahead = np.array([0.0, 0.01, 5.0])
    expected = 0.2 * now + 0.2 * DECAY * (1 - np.exp(-ahead / DECAY))
    np.testing.assert_allclose(history.forecast(ahead), np.tile(expected[:, None], WIDTH), atol=1e-12)


def test_the_first_step_after_standing_is_not_taken_for_a_period():
    history, _ = filled(lambda t: gait(max(t - 2.0, 0.0)), 2.6)
    assert history.lag is None


def test_a_change_of_gait_is_forgotten_and_found_again():
    history = CommandHistory(WIDTH, period=PERIOD)
    times = np.arange(0, 9.0, PERIOD)
    found = []
    for t in times:
        history.append(t, gait(t, 1.3 if t < 4.5 else 0.9)[0])
        found.append(history.lag)
    assert found[round(4.4 / PERIOD)] == pytest.approx(1.3, abs=0.01)
    assert found[-1] == pytest.approx(0.9, abs=0.01)


def test_lost_commands_do_not_shift_the_phase():
    history = CommandHistory(WIDTH, period=PERIOD)
    rng = np.random.default_rng(1)
    for k in range(230):
        if k in (100, 101, 150, 151, 152) and k < 180:
            continue
        history.append(k * PERIOD + rng.uniform(-0.004, 0.004), gait(k * PERIOD)[0])
    ahead = np.linspace(0.02, 0.4, 20)
    np.testing.assert_allclose(history.forecast(ahead), gait(229 * PERIOD + ahead), atol=0.02)


def test_a_clock_that_jumps_back_or_far_starts_afresh():
    history, now = filled(gait, 4.0)
    history.append(now - 10.0, gait(0.0)[0])
    assert history.count == 1
    history.append(now + 100.0, gait(0.0)[0])
    assert history.count == 1


def test_nothing_to_extrapolate_is_said():
    with pytest.raises(HexapodError, match="no command"):
        CommandHistory(WIDTH).forecast([0.0])
