"""When log odds become decisions: thresholds, both of a pair at once, the kind of a joint, a robot that stands."""

import numpy as np
import pytest

from hexapod_dynamics.detection.features import STEP
from hexapod_dynamics.detection.network import CLASSES, LIMP, LOCKED, LOST
from hexapod_dynamics.detection.posterior import KIND_WAIT, PAIR_WAIT, WAIT, Posterior

LEGS, THRESHOLD = 6, 2.3


def probabilities(odds):
    """Probabilities (LEGS, CLASSES) of {(leg, class): log odds against intact}; all else is 1e-6 as likely."""
    p = np.full((LEGS, CLASSES), 1e-6)
    p[:, 0] = 1.0
    for (leg, kind), value in odds.items():
        p[leg, kind] = np.exp(value)
    return p / p.sum(axis=1, keepdims=True)


ALL = np.ones(LEGS, bool)


def run(steps, moving=True, intact=ALL, answers=None, stands=None):
    """(time [s] since the first step, legs and classes) of the first decision of steps, each as in `probabilities`."""
    posterior = Posterior(LEGS, np.full(2, THRESHOLD), 0.0)
    for k, odds in enumerate(steps):
        posterior.update(STEP * k, probabilities(odds), moving, intact, ALL if answers is None else answers[k])
        found = posterior.decide(STEP * k, lambda *_: stands)
        if found:
            return round(STEP * k, 2), {(one.leg, one.kind) for one in found}
    return None


QUIET = [{}] * 4


def test_a_foot_is_lost_when_half_a_second_says_so_and_a_moment_is_no_evidence():
    assert run([*QUIET, *[{(2, LOST): 16.0}] * 2, *QUIET, *QUIET]) is None
    at, found = run([*QUIET, *[{(2, LOST): 8.0}] * 9])
    assert found == {(2, LOST)} and at - 4 * STEP < 0.5
    assert run([*QUIET, *[{(2, LOST): THRESHOLD - 0.1}] * 20]) is None
    at, found = run([*QUIET, *[{(2, LOST): THRESHOLD + 0.3}] * 20])  # weak, but it lasts
    assert found == {(2, LOST)} and 0.4 < at - 4 * STEP < 0.8


def test_a_robot_that_stands_has_lost_nothing_and_a_leg_that_is_not_judged_neither():
    steps = [*QUIET, *[{(2, LOST): 8.0}] * 9]
    assert run(steps, moving=False) is None
    assert run(steps, intact=np.arange(LEGS) != 2) is None
    assert run(steps, answers=[np.arange(LEGS) != 2] * len(steps)) is None


def test_what_a_leg_showed_while_a_servo_was_silent_counts_once_it_answers():
    answers = [np.arange(LEGS) != 2] * 12 + [ALL] * 8
    assert run([*QUIET, *[{(2, LOST): 8.0}] * 16], answers=answers) == (round(12 * STEP + WAIT, 2), {(2, LOST)})


def test_both_of_a_pair_are_declared_at_once_if_the_second_follows_soon():
    rising = [
        {(1, LOST): 8.0, (4, LOST): value} for value in (-2.0, -2.0, -1.0, 0.5, 2.5, 4.0, 5.0, 6.0, 6.0, 6.0, 6.0)
    ]
    assert run([*QUIET, *rising])[1] == {(1, LOST), (4, LOST)}
    at, found = run([*QUIET, *[{(1, LOST): 8.0, (4, LOST): 0.5}] * 25])
    assert found == {(1, LOST)} and at - 7 * STEP == pytest.approx(PAIR_WAIT, abs=2 * STEP)


def test_a_leg_below_both_thresholds_keeps_no_lost_foot_waiting():
    at, found = run([*QUIET, *[{(2, LOST): 8.0, (4, LOST): 2.1, (4, LIMP): 2.2}] * 9])
    assert found == {(2, LOST)} and at - 4 * STEP < 0.5


@pytest.mark.parametrize("kind, stands", [(LIMP + 2, False), (LOCKED + 1, True)])
def test_whether_a_joint_is_limp_or_locked_is_said_by_its_readings(kind, stands):
    other = kind + 3 if kind < LOCKED else kind - 3
    at, found = run([*QUIET, *[{(3, other): 8.0, (3, kind): 6.0}] * 9], stands=stands)
    assert found == {(3, kind)} and at - 7 * STEP == pytest.approx(WAIT, abs=STEP)


def test_a_joint_whose_readings_do_not_tell_waits_and_is_then_what_was_likelier_all_the_time():
    either = {(3, LIMP + 1): 7.0, (3, LOCKED + 1): 7.2}
    at, found = run([*QUIET, *[either] * 30])
    assert found == {(3, LOCKED + 1)}
    assert at - 7 * STEP == pytest.approx(KIND_WAIT, abs=STEP)


def test_a_suspicion_has_a_beginning_and_survives_a_moment_without():
    posterior = Posterior(LEGS, np.full(2, THRESHOLD), 0.0)
    for k in range(20):
        odds = {} if k == 12 else {(5, LOST): 2.0}
        posterior.update(STEP * k, probabilities(odds), True, ALL, ALL)
    (only,) = posterior.list_suspected()
    assert (only.leg, only.kind) == (5, LOST) and only.since == pytest.approx(3 * STEP, abs=STEP)
    posterior.forget()
    assert posterior.list_suspected() == []
