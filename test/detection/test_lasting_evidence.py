"""From banks to a lost foot: which leg several banks agree on, and when it is declared."""

from dataclasses import replace

import numpy as np
import pytest

from hexapod_dynamics.detection.decisions import DecisionMaker
from hexapod_dynamics.detection.hypotheses import both, limp, short
from hexapod_dynamics.detection.lasting_evidence import LastingEvidence
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.one_or_two import PairEvidence, choose, doubted
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.estimation import DetectorSettings
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
LM, RR = short(ROBOT, "LM", 0.5), short(ROBOT, "RR", 0.5)
SLICES = DetectorSettings().window
HYPOTHESES = [LM, RR, both(LM, RR), limp(ROBOT, 0)]


def bank(*probabilities, onset=1, odds=100.0, misfit=0.3, declared=2.0, tilt=20.0):
    """A Posterior of HYPOTHESES with these probabilities; odds: of the most probable one; tilt: of all."""
    p = np.array(probabilities)
    count = len(p)
    log_odds = odds + np.log(np.maximum(p, 1e-20) / p.max())
    fit, whole = np.full(count, misfit), np.float64(declared)
    left, tilts = 1.0 - p.sum(), np.full(count, tilt)
    return Posterior(p, log_odds, np.full(count, onset), left, fit, whole, SLICES, tilts)


def declared(*posteriors):
    """Names that can be declared after each bank, None for nothing."""
    evidence = LastingEvidence(DetectorSettings())
    found = [evidence.look(0.32 * k, HYPOTHESES, posterior) for k, posterior in enumerate(posteriors)]
    return [None if one is None else one[0].name for one in found]


def test_a_lost_foot_waits_for_the_other_half_of_the_gait():
    banks = [bank(0.999, 0.0, 1e-5, 0.0, onset=onset) for onset in (4, 3, 2)]
    assert declared(*banks) == [None, None, LM.name]


def test_a_second_foot_that_shows_soon_is_declared_with_the_first():
    found = declared(
        bank(0.99, 0.0, 0.009, 0.0, onset=4),
        bank(0.0, 0.0, 0.999, 0.0, onset=2, odds=120.0),
        bank(0.0, 0.0, 0.999, 0.0, onset=0, odds=120.0),
    )
    assert found == [None, None, both(LM, RR).name]


def test_a_leg_is_sure_although_it_is_not_whether_another_is_lost_too():
    assert declared(*[bank(0.55, 0.0, 0.449, 0.0, onset=onset) for onset in (3, 2)]) == [None, LM.name]


# Banks of recorded walks on MuJoCo from the first on that may declare a foot lost: log odds of the best pair less those
# of the best single foot, chi-square per feature of the pair as a share of the foot's, slice of the foot's onset; and
# what is declared by each bank.
RECORDED = {
    "LF and RM": ([(27, 0.50, 2), (35, 0.39, 1), (58, 0.23, 0)], [None, None, "both"]),
    "LM and RF": ([(37, 0.59, 2), (50, 0.52, 1), (108, 0.33, 0)], [None, None, "both"]),
    "LF and LM": ([(869, 0.02, 2)], ["both"]),
    "LM and RM: the other half of the gait": ([(-4, 1.08, 2)], ["one"]),
    "LF and RR: the other half of the gait": ([(-6, 0.94, 1)], ["one"]),
    "LM, 8 mm of roughness": ([(36, 0.55, 2), (45, 0.51, 1), (10, 0.83, 0)], [None, None, "one"]),
    "LM, 8 mm of roughness, another": ([(-6, 1.01, 2)], ["one"]),
    "RM, smooth": ([(6, 0.89, 2)], ["one"]),
}
ONE_AND_BOTH, READY, SURE = [LM, both(LM, RR)], {0: 1.0, 1: 1.0}, {"LM lost", "RR lost"}


def compared(gain, share, onset, misfit=1.0, declared=20.0):
    """A Posterior of ONE_AND_BOTH in which the pair gains so much, and leaves this share of the foot's chi-square."""
    odds, left = np.array([50.0, 50.0 + gain]), misfit * np.array([1.0, share])
    return Posterior(np.zeros(2), odds, np.full(2, onset), 0.0, left, declared, SLICES, np.zeros(2))


@pytest.mark.parametrize("walk", RECORDED)
def test_two_feet_are_declared_where_they_gain_much_over_one_and_one_where_they_do_not(walk):
    banks, expected = RECORDED[walk]
    names = {None: None, 0: "one", 1: "both"}
    assert [names[choose(ONE_AND_BOTH, compared(*bank), READY, SURE)] for bank in banks] == expected


# The same, with what roll and pitch contribute to the gain: of each bank (gain, tilt). The second walk lasted long
# enough to be sure only by its third bank; healthy feet were named with the first foot in the last three.
LASTING = {
    "a pair whose banks tilt alike": ([(18, 9), (27, 18), (20, 11)], [False, True, True]),
    "a pair of which roll and pitch say little": (
        [(13, 2), (34, -0.6), (37, -1), (54, 0.9)],
        [False, False, False, True],
    ),
    "one foot, a push": ([(37, -6.6), (27, -5.0), (17, -6.0)], [False] * 3),
    "one foot, 8 mm of roughness": ([(29, 1.4), (28, 1.4), (21, 1.4)], [False] * 3),
    "one foot, much gain by the joints": ([(75, -5.8), (79, -4.2), (74, -6.2)], [False] * 3),
}


def weighed(gain, tilt, best=0):
    """A Posterior of HYPOTHESES in which both(LM, RR) gains so much over the best single foot."""
    odds = np.array([0.0, 0.0, 50.0 + gain, -50.0])
    odds[best] = 50.0
    fit, tilts = np.ones(4), np.array([20.0, 20.0, 20.0 + tilt, 0.0])
    return Posterior(np.zeros(4), odds, np.full(4, 1), 0.0, fit, 20.0, SLICES, tilts)


@pytest.mark.parametrize("walk", LASTING)
def test_the_same_pair_in_several_banks_is_lost_if_roll_and_pitch_do_not_contradict(walk):
    banks, expected = LASTING[walk]
    evidence = PairEvidence()
    assert [evidence.look(HYPOTHESES, weighed(*bank)) for bank in banks] == expected


def test_another_pair_or_none_in_between_begins_again():
    rm, lf = short(ROBOT, "RM", 0.5), short(ROBOT, "LF", 0.5)
    others = [rm, lf, both(rm, lf), limp(ROBOT, 0)]
    for hypotheses, between in ((others, weighed(20, 9)), (HYPOTHESES, weighed(-5, 0))):
        evidence = PairEvidence()
        assert not evidence.look(HYPOTHESES, weighed(20, 9))
        assert not evidence.look(hypotheses, between)
        assert not evidence.look(HYPOTHESES, weighed(20, 9))
        assert evidence.look(HYPOTHESES, weighed(20, 9))


# Recorded walks in which LF and LM were lost: by how much they explained more than LM and LR in each bank, and whether
# they were declared (1), nothing (None). In the third the robot sat on its body in the fifth bank.
APART = {
    "the other pair first": ([-8.0, -7.0, -19.0, 13.0, 1.0, 197.0], [None] * 5 + [1]),
    "little in each bank": ([9.0, 8.7, 17.0, 6.3, 6.3, -38.8], [None] * 3 + [1, 1, None]),
    "the other pair in the end": ([2.4, 6.4, 10.0, 7.6, -63.0], [None] * 5),
}


@pytest.mark.parametrize("walk", APART)
def test_a_pair_that_explains_hardly_more_than_another_is_awaited(walk):
    lf, lr = short(ROBOT, "LF", 0.5), short(ROBOT, "LR", 0.5)
    hypotheses, evidence, found = [LM, both(lf, LM), both(LM, lr)], PairEvidence(), []
    fit, zero = np.array([1.0, 0.2, 0.2]), np.zeros(3)
    banks, expected = APART[walk]
    for apart in banks:
        odds = np.array([0.0, 400.0, 400.0 - apart])
        posterior = Posterior(zero, odds, np.full(3, 1), 0.0, fit, 20.0, SLICES, zero)
        evidence.look(hypotheses, posterior)
        clear = evidence.clear_of_others
        found.append(
            choose(hypotheses, posterior, {0: 1.0, 1: 1.0, 2: 1.0}, {"LF lost", "LM lost", "LR lost"}, clear=clear)
        )
    assert found == expected


def test_a_pair_without_the_foot_that_explains_most_alone_is_not_believed():
    """A recorded walk: RR lost, RR explained most alone, and LM and RF together more."""
    rf = short(ROBOT, "RF", 0.5)
    hypotheses, evidence = [RR, rf, both(LM, rf), limp(ROBOT, 0)], PairEvidence()
    assert not any(evidence.look(hypotheses, weighed(60, 9)) for _ in range(4))


def test_a_lasting_pair_is_declared_and_one_that_tilts_the_body_otherwise_is_not():
    unsure, obvious = weighed(21, 11), weighed(90, -4)
    assert choose(HYPOTHESES, unsure, {0: 1.0, 2: 1.0}, SURE) is None
    assert choose(HYPOTHESES, unsure, {0: 1.0, 2: 1.0}, SURE, lasting=True) == 2
    assert choose(HYPOTHESES, obvious, {0: 1.0, 2: 1.0}, SURE) == 0


# Banks of walks with one foot lost, in which a pair explained more in each: (its gain, of that roll and pitch, log odds
# of the foot), and of pairs in which it explained little more.
OF_ALL = {
    "half of LM's tibia": ([(2, -2.9, 719), (24, -4.1, 1092), (25, -1.8, 1040), (37, -0.6, 994)], [0, 0, 0, 0]),
    "RF's foot": ([(36, 3.1, 570), (37, 2.8, 559), (31, 1.1, 497)], [0, 0, 0]),
    "LM's foot": ([(28, -2.4, 189), (27, -2.4, 160)], [0, 0]),
    "two feet, by roll and pitch": ([(21.3, 6.1, 980), (32.6, 8.2, 980)], [0, 2]),
    "two feet, by the joints": ([(133, 3.6, 552)] * 3, [None, None, 2]),
}


@pytest.mark.parametrize("walk", OF_ALL)
def test_a_pair_that_roll_and_pitch_say_little_for_has_to_explain_a_tenth_more(walk):
    banks, expected = OF_ALL[walk]
    evidence, found = PairEvidence(), []
    for gain, tilt, odds in banks:
        posterior = weighed(gain, tilt)
        posterior.log_odds[:] += odds - 50.0
        lasting, good = evidence.look(HYPOTHESES, posterior), {0: 1.0, 2: 1.0}
        found.append(choose(HYPOTHESES, posterior, good, SURE, lasting, tilt=evidence.tilt))
    assert found == expected


def test_a_foot_that_fits_poorly_is_not_declared_alone_while_a_pair_fits_better():
    """A recorded walk with LM and RR lost: the next banks had gains of 49 and 69."""
    assert choose(ONE_AND_BOTH, compared(10.0, 0.9, 0, 0.86, 4.7), {0: 0.5, 1: 1.0}, SURE) is None


def test_a_pair_of_which_only_one_leg_is_sure_is_awaited():
    assert choose(ONE_AND_BOTH, compared(100.0, 0.2, 0), READY, {"LM lost"}) is None


def test_where_no_single_foot_could_be_simulated_nothing_is_declared():
    ones, first, fit = np.ones(1), np.zeros(1, int), np.array([0.1])
    posterior = Posterior(ones, 99.0 * ones, first, 0.0, fit, 20.0, SLICES, 20.0 * ones)
    assert choose(ONE_AND_BOTH[1:], posterior, {0: 1.0}, SURE) is None


def test_a_joint_that_does_not_follow_is_named_at_once():
    assert declared(bank(0.0, 0.0, 0.0, 0.999, onset=4, odds=8.0)) == [HYPOTHESES[3].name]


@pytest.mark.parametrize(
    "misfit, whole, fits",
    [(0.3, 0.9, True), (0.66, 0.9, False), (0.79, 5.0, True), (1.3, 5.0, False), (1.2, 40.0, True)],
)
def test_a_lost_foot_explains_a_third_of_what_is_unusual_and_leaves_little_of_it(misfit, whole, fits):
    found = declared(*[bank(0.999, 0.0, 0.0, 0.0, misfit=misfit, declared=whole)] * 2)
    assert found == [None, LM.name if fits else None]


# Banks of the launched robot on MuJoCo after half of RF's tibia had broken off (22 November 2026): onset, chi-square of
# the best hypothesis and of the declared robot per feature, log odds. It stood on its stump in each cycle, and was
# declared after 7.7 s.
ON_ITS_STUMP = [(4, 0.99, 11.4, 541), (3, 1.73, 15.1, 386), (2, 2.07, 16.4, 347), (0, 2.46, 16.7, 282)]
# The same, what roll and pitch contribute, and the leg's probability, of healthy robots that were pushed on 8 mm of
# roughness (walks quiet 3, 8 and 2 on MuJoCo, 23 November 2026). Without a look at roll and pitch the first two were
# declared.
PUSHED = {
    "quiet 3": [(3, 0.72, 1.46, 20, 0.1, 0.999), (2, 0.55, 1.34, 32, -2.0, 1.0), (1, 0.58, 1.39, 24, 1.9, 1.0)],
    "quiet 8": [(3, 0.63, 1.32, 46, 0.3, 1.0), (2, 0.59, 1.26, 40, -3.0, 1.0), (1, 0.86, 1.43, 17, -3.4, 1.0)],
    "quiet 2": [(2, 0.61, 1.09, 21, -3.3, 0.999), (1, 0.48, 0.92, 13, -2.8, 0.99), (0, 0.68, 1.20, 15, -6.8, 0.985)],
}
# The same of walks in which 85 % of a tibia was left, the first on smooth ground.
WITHOUT_FOOT = {
    "LF": [(3, 0.07, 0.37, 29, 9.6, 1.0), (2, 0.07, 0.75, 78, 22.8, 1.0)],
    "RR": [(3, 0.08, 0.49, 48, 17.5, 1.0), (2, 0.12, 1.07, 125, 40.3, 1.0)],
}


def banks_of(recorded):
    """Banks that are sure of LM."""
    found = []
    for onset, misfit, whole, odds, *rest in recorded:
        tilt, p = rest or (20.0, 0.999)
        found.append(bank(p, 0.0, 0.0, 0.0, onset=onset, misfit=misfit, declared=whole, odds=odds, tilt=tilt))
    return found


def test_a_foot_that_explains_nine_tenths_of_much_is_declared_after_three_banks_at_the_latest():
    assert declared(*banks_of(ON_ITS_STUMP[:3])) == [None, None, LM.name]
    assert declared(*banks_of(ON_ITS_STUMP[2:] * 2)[:3]) == [None, None, LM.name]


@pytest.mark.parametrize(
    "odds, misfit, leant, found",
    [
        (119.0, 1.9, 1.28, (RR.name, RR.name)),  # LF after RR (walk 5717): the body falls onto the second stump
        (49.0, 4.5, 1.10, (None, RR.name)),  # RF after LR (5726, built-in physics)
        (119.0, 5.4, 1.28, (None, RR.name)),
        (119.0, 1.9, 0.15, (None, RR.name)),
        (51.0, 5.8, 0.15, (None, None)),  # the most of an intact foot after RM (3724)
    ],
)
def test_soon_after_one_foot_another_is_declared_by_much_evidence_only(odds, misfit, leant, found):
    """Whatever roll and pitch contribute: the model has fallen as the robot has."""
    first = bank(0.999, 0.0, 1e-5, 0.0)
    posterior = bank(0.0, 0.999, 1e-5, 0.0, odds=odds, misfit=misfit, declared=10.0, tilt=16.0, onset=2)
    second = replace(posterior, leant=np.full(4, leant))
    assert declared(first, first, second, second) == [None, LM.name, *found]


@pytest.mark.parametrize("misfit, found", [(4.0, RR), (6.0, None)])
def test_soon_after_one_foot_another_has_to_explain_most_by_itself(misfit, found):
    evidence, ones = LastingEvidence(DetectorSettings()), np.ones(2)
    for k in range(2):
        evidence.look(0.32 * k, HYPOTHESES, bank(0.999, 0.0, 0.0, 0.0))
    fit, odds, p = np.array([misfit, 0.4]), np.array([150.0, 155.0]), np.array([0.01, 0.985])
    posterior = Posterior(p, odds, np.full(2, 2), 0.0, fit, np.float64(10.0), SLICES, 20.0 * ones, ones)
    second = evidence.look(1.0, [RR, both(RR, short(ROBOT, "LR", 0.5))], posterior)
    assert (second and second[0]) is found


# Recorded walks with LR and RR lost, the robot tipped over and sat: of each bank log odds, chi-square and tilt of RR
# alone, LR with RR, LM with LR.
SATS = {
    "which two is not clear (4209)": [
        ((1591.0, 1606.0, 1591.0), (4.28, 3.27, 4.10), (1511.0, 1535.0, 1558.0)),
        ((1508.0, 1526.0, 1508.0), (4.90, 3.53, 4.55), (1759.0, 1780.0, 1797.0)),
        ((1450.0, 1471.0, 1450.0), (4.90, 3.53, 4.55), (1759.0, 1780.0, 1797.0)),
    ],
    "the pair explains little more (6026)": [
        ((442.0, 448.0, 424.0), (3.74, 3.06, 4.82), (1023.0, 1046.0, 1015.0)),
        ((370.0, 384.0, 351.0), (4.65, 3.59, 6.26), (973.0, 994.0, 950.0)),
        ((340.0, 354.0, 321.0), (4.65, 3.59, 6.26), (973.0, 994.0, 950.0)),
    ],
}


@pytest.mark.parametrize("walk", SATS)
def test_no_foot_is_declared_alone_while_roll_and_pitch_confirm_a_pair(walk):
    """It would sit down, stand up and tip over again, onto the other stump."""
    lm, lr = (short(ROBOT, leg, 0.05) for leg in ("LM", "LR"))
    hypotheses, evidence, found = [RR, both(lr, RR), both(lm, lr)], LastingEvidence(DetectorSettings()), []
    for odds, misfit, tilt in SATS[walk]:
        p, onsets = np.array([0.0, 1.0, 0.0]), np.full(3, 2)
        posterior = Posterior(p, np.array(odds), onsets, 0.0, np.array(misfit), 105.0, SLICES, np.array(tilt))
        found.append(evidence.look(0.32 * len(found), hypotheses, posterior))
    assert [None if one is None else one[0].name for one in found] == [None, None, hypotheses[1].name]


@pytest.mark.parametrize("leant, clear", [(0.13, True), (1.0, False)])
def test_a_pair_that_would_have_tipped_the_body_over_is_no_rival_of_one_that_predicts_its_lean(leant, clear):
    """A recorded walk, LM and RM lost (5707): so unlike in lean, so alike in the joints are RR and RM."""
    hypotheses = [LM, both(LM, short(ROBOT, "RM", 0.05)), both(RR, short(ROBOT, "RM", 0.05))]
    evidence, zero = PairEvidence(), np.zeros(3)
    odds, leans = np.array([215.0, 257.0, 252.0]), np.array([1.01, 1.05, leant])
    evidence.look(hypotheses, Posterior(zero, odds, np.full(3, 2), 0.0, np.ones(3), 15.7, SLICES, zero, leans))
    assert evidence.clear_of_others is clear


@pytest.mark.parametrize("walk", PUSHED)
def test_a_push_is_no_lost_foot_however_long_one_leg_explains_it_best(walk):
    assert declared(*banks_of(PUSHED[walk] * 3)) == [None] * 3 * len(PUSHED[walk])


@pytest.mark.parametrize("walk", WITHOUT_FOOT)
def test_a_foot_that_is_lost_tilts_the_body(walk):
    assert declared(*banks_of(WITHOUT_FOOT[walk])) == [None, LM.name]


def test_a_bank_that_only_suspects_the_leg_does_not_end_the_row_and_one_that_suspects_another_does():
    sure, doubt, other = bank(0.999, 0.0, 0.0, 0.0), bank(0.6, 0.0, 0.0, 0.0), bank(0.0, 0.999, 0.0, 0.0)
    assert declared(sure, doubt, sure) == [None, None, LM.name]
    assert declared(sure, other, sure) == [None, None, None]


def test_a_robot_that_lies_otherwise_than_every_hypothesis_has_lost_nothing():
    assert declared(*banks_of([(1, 7.0, 27.3, 136)] * 8)) == [None] * 8


# A recorded walk with LM and RF lost: one of them carried nothing until it was pressed down. Of each bank: log odds,
# chi-square per feature of the best hypothesis and of the declared robot, tilt.
PRESSED = [(11.7, 1.32, 2.22, 9.8), (12.8, 1.44, 2.37, 9.9)]


def after_a_loss(banks, press, first=None):
    """Names declared after LM has been declared by two banks `first`, for banks that name RR; press: whether RR is
    pressed before them.
    """
    evidence = LastingEvidence(DetectorSettings())
    for k in range(2):
        found = evidence.look(0.3 * k, HYPOTHESES, first or bank(0.999, 0.0, 0.0, 0.0))
    assert found[0] is LM
    evidence.clear()
    if press:
        evidence.pressed(0.7, "RR lost")
    found = []
    for k, (odds, misfit, whole, tilt) in enumerate(banks):
        posterior = bank(0.0, 0.999, 0.0, 0.0, onset=0, odds=odds, misfit=misfit, declared=whole, tilt=tilt)
        found.append(evidence.look(0.9 + 0.32 * k, HYPOTHESES, posterior))
    return [None if one is None else one[0].name for one in found]


def test_banks_from_before_the_loss_do_not_outweigh_those_that_follow():
    """In walk 3809 ten banks suspected LR with RM more than with RR; then LR and RR broke, found 5 s later."""
    lr_rm, lr_rr = both(short(ROBOT, "LR", 0.05), short(ROBOT, "RM", 0.05)), both(short(ROBOT, "LR", 0.05), RR)
    hypotheses, zero = [short(ROBOT, "LR", 0.05), lr_rm, lr_rr], np.zeros(3)
    evidence, clear = PairEvidence(), []
    for odds in ([20.0, 50.0, 25.0],) * 10 + ([800.0, 790.0, 860.0],) * 2:
        ones = np.ones(3, int)
        evidence.look(hypotheses, Posterior(zero, np.array(odds), ones, 0.0, np.ones(3), 20.0, SLICES, zero))
        clear.append(evidence.clear_of_others)
    assert clear[-2:] == [False, True]


def test_a_foot_that_was_pressed_down_is_declared_by_two_banks_although_another_was_just_lost():
    assert after_a_loss(PRESSED, press=False) == [None, None]
    assert after_a_loss(PRESSED, press=True) == [None, RR.name]


# A recorded walk with RR and RF lost, servos unlike the model's: banks of the press of RR after RF was declared.
SECOND = [(26.4, 2.18, 5.06, 2.5), (57.1, 2.23, 6.30, 6.5), (106.9, 2.18, 7.65, 10.6)]


@pytest.mark.parametrize("doubted, found", [(True, [None, None, RR.name]), (False, [None] * 3)])
def test_a_second_foot_that_was_doubted_and_pressed_is_declared_although_it_fits_poorly(doubted, found):
    first = bank(0.1, 0.0, 0.899, 0.0) if doubted else bank(0.999, 0.0, 0.0, 0.0)
    assert after_a_loss(SECOND, press=True, first=first) == found


def test_a_pair_that_is_suspected_with_a_gap_is_not_taken_for_the_ground_that_its_own_lean_makes():
    """A recorded walk: LF and LM lost, suspected from 0.3 s on, by all banks but one; it leans by 26 degrees."""
    evidence, leaning = LastingEvidence(DetectorSettings()), Leaning()
    pair, none = bank(0.0, 0.0, 0.999, 0.0, onset=0), bank(0.0, 0.0, 0.0, 0.6)
    leaning.note(-5.0, 0.015)
    for k in range(10):
        leaning.note(0.3 * k, 0.45)
    found = [
        evidence.look(time, HYPOTHESES, one, leaning)
        for time, one in ((0.3, bank(0.0, 0.0, 0.6, 0.0)), (0.62, none), (0.94, pair), (1.26, pair))
    ]
    assert [None if one is None else one[0].name for one in found] == [None, None, None, both(LM, RR).name]


def test_no_other_leg_is_declared_with_the_one_that_was_pressed():
    """A recorded walk: LF was lost with RM and pressed, and a bank explained it best by LF and LR."""
    evidence, (lf, rm) = LastingEvidence(DetectorSettings()), (short(ROBOT, leg, 0.5) for leg in ("LF", "RM"))
    hypotheses = [RR, lf, both(RR, lf), limp(ROBOT, 0)]
    for k in range(2):
        evidence.look(0.3 * k, [rm, lf, both(rm, lf), limp(ROBOT, 0)], bank(0.999, 0.0, 0.0, 0.0))
    evidence.clear()
    evidence.pressed(0.7, "RR lost")
    found = [evidence.look(0.9 + 0.32 * k, hypotheses, bank(0.001, 0.0, 0.998, 0.0, onset=0)) for k in range(2)]
    assert found[0] is None and found[1][0] is RR


def test_one_bank_or_banks_long_after_the_press_do_not_declare_it():
    none = (0.0, 0.2, 0.2, 0.0)
    assert after_a_loss(PRESSED[:1], press=True) == [None]
    assert after_a_loss([PRESSED[0], *[none] * 6, *PRESSED], press=True)[-2:] == [None, None]


def test_what_banks_said_before_the_press_does_not_count():
    evidence = LastingEvidence(DetectorSettings())
    for k in range(2):
        evidence.look(0.3 * k, HYPOTHESES, bank(0.999, 0.0, 0.0, 0.0))
    evidence.look(0.9, HYPOTHESES, bank(0.0, 0.999, 0.0, 0.0, onset=0))
    evidence.pressed(1.0, "RR lost")
    assert evidence.look(1.2, HYPOTHESES, bank(0.0, 0.999, 0.0, 0.0, onset=0)) is None


def test_a_foot_that_roll_and_pitch_contradict_is_not_pressed():
    """Healthy walk 57910, whose servos the model fits poorly: LF was suspected with -42 nats of roll and pitch,
    pressed, and declared because the model fitted it no better while it was pressed. 70 lost feet had 32 nats or more.
    """
    evidence = LastingEvidence(DetectorSettings())
    for k, tilt in enumerate([-3.2, -4.1, -16.8, -5.7, 9.0]):
        evidence.look(0.32 * k, HYPOTHESES, bank(0.97, 0.0, 0.0, 0.0, misfit=3.0, declared=4.6, odds=10.0, tilt=tilt))
    assert evidence.contradicted("LM lost") and not evidence.contradicted("RR lost")
    evidence.look(1.6, HYPOTHESES, bank(0.3, 0.0, 0.0, 0.0, odds=1.0))  # the row ends
    for k, tilt in enumerate([20.0, -4.0, 16.0]):
        evidence.look(1.9 + 0.32 * k, HYPOTHESES, bank(0.97, 0.0, 0.0, 0.0, misfit=3.0, declared=4.6, tilt=tilt))
        assert not evidence.contradicted("LM lost")


@pytest.mark.parametrize("gain, leg", [(15.0, "RR"), (2.6, "RR"), (1.1, None), (-3.0, None)])
def test_the_second_foot_of_a_pair_that_explains_a_little_more_is_doubted(gain, leg):
    """Recorded walks: 2.6 to 71 with a second foot lost; 0.3 where a third was doubted instead of the second."""
    posterior = weighed(gain, 0.0)
    assert doubted(HYPOTHESES, posterior, LM) == leg
    assert doubted(HYPOTHESES, posterior, both(LM, RR)) is None


def test_of_a_foot_that_roll_and_pitch_do_not_confirm_it_is_said_why():
    maker = DecisionMaker(ROBOT, DetectorSettings())
    for k in range(2):
        poorly = bank(0.999, 0.0, 0.0, 0.0, misfit=7.0, declared=10.0, tilt=21.0)
        assert maker.from_bank(0.32 * k, HYPOTHESES, poorly, {}) == []
    assert maker.cannot_tell(0.32) == ("LM lost", "roll and pitch say 42 of 65 nats")


def test_of_a_foot_that_is_suspected_for_long_it_is_said_why():
    maker = DecisionMaker(ROBOT, DetectorSettings())
    told = []
    for k in range(7):
        maker.from_bank(0.32 * k, HYPOTHESES, bank(0.6, 0.0, 0.0, 0.0), {})
        told.append(maker.cannot_tell(0.32 * k))
    assert told[:5] == [None] * 5
    assert told[6] == ("LM lost", "suspected for 1.9 s (p = 0.60), but no two banks in a row are sure")
    maker.from_bank(2.3, HYPOTHESES, bank(0.1, 0.0, 0.0, 0.0), {})
    assert maker.cannot_tell(2.3) is None
