"""From banks to a lost foot: which leg several banks agree on, and when it is declared."""

import numpy as np
import pytest

from hexapod_dynamics.estimation import DetectorSettings
from hexapod_dynamics.estimation.damage.hypotheses import both, limp, short
from hexapod_dynamics.estimation.damage.lasting_evidence import LastingEvidence
from hexapod_dynamics.estimation.damage.posterior import Posterior
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
LM, RR = short(ROBOT, "LM", 0.5), short(ROBOT, "RR", 0.5)
HYPOTHESES = [LM, RR, both(LM, RR), limp(ROBOT, 0)]


def bank(*probabilities, onset=1, odds=100.0, misfit=0.3, declared=2.0):
    """A Posterior of HYPOTHESES with these probabilities."""
    p = np.array(probabilities)
    count = len(p)
    return Posterior(
        p, np.full(count, odds), np.full(count, onset), 1.0 - p.sum(), np.full(count, misfit), np.float64(declared)
    )


def declared(*posteriors):
    """Names that can be declared after each bank, None for nothing."""
    evidence = LastingEvidence(DetectorSettings())
    found = [evidence.look(HYPOTHESES, posterior) for posterior in posteriors]
    return [None if one is None else one[0].name for one in found]


def test_a_lost_foot_waits_for_the_other_half_of_the_gait():
    banks = [bank(0.995, 0.0, 0.004, 0.0, onset=onset) for onset in (4, 3, 2)]
    assert declared(*banks) == [None, None, LM.name]


def test_a_second_foot_that_shows_half_a_cycle_later_is_declared_with_the_first():
    found = declared(
        bank(0.99, 0.0, 0.009, 0.0, onset=4), bank(0.9, 0.0, 0.099, 0.0, onset=3), bank(0.0, 0.0, 0.999, 0.0, onset=2)
    )
    assert found == [None, None, both(LM, RR).name]


def test_a_leg_is_sure_although_it_is_not_whether_another_is_lost_too():
    assert declared(*[bank(0.55, 0.0, 0.449, 0.0)] * 2) == [None, LM.name]


def test_a_joint_that_does_not_follow_is_named_at_once():
    assert declared(bank(0.0, 0.0, 0.0, 0.999, onset=4, odds=8.0)) == [HYPOTHESES[3].name]


@pytest.mark.parametrize(
    "misfit, whole, fits",
    [(0.3, 0.9, True), (0.5, 0.9, False), (0.79, 5.0, True), (1.2, 5.0, False), (1.2, 40.0, True)],
)
def test_a_lost_foot_explains_half_of_what_is_unusual_and_leaves_little_of_it(misfit, whole, fits):
    """The second: after a push on 8 mm of roughness the best foot explained 0.41 of 0.83."""
    found = declared(*[bank(0.999, 0.0, 0.0, 0.0, misfit=misfit, declared=whole)] * 2)
    assert found == [None, LM.name if fits else None]
