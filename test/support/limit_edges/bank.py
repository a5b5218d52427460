"""Edges of the limits by which banks decide: covariance, posterior, banks in a row, one foot or two, probes."""

import math
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from support.limit_edges.judging import near

from hexapod_dynamics.detection import bank_run
from hexapod_dynamics.detection.bank import HypothesisBank, has_diverged
from hexapod_dynamics.detection.bank_run import BankRun
from hexapod_dynamics.detection.covariance import covariance
from hexapod_dynamics.detection.hypotheses import both, limp, short
from hexapod_dynamics.detection.lasting_evidence import LastingEvidence
from hexapod_dynamics.detection.one_or_two import PairEvidence, choose, doubted
from hexapod_dynamics.detection.posterior import Posterior, posterior_of
from hexapod_dynamics.detection.probe import Probe
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
LM, RR = short(ROBOT, "LM", 0.5), short(ROBOT, "RR", 0.5)
HYPOTHESES = [LM, RR, both(LM, RR), limp(ROBOT, 0)]
SLICES = 5


# ---- covariance and ensemble


def variance(limits, *, static=0.0, rough=0.0, unknown=1.0, ground=1.0, feature=0):
    """Variance of a feature (joint, roll, pitch, yaw rate) of one window."""
    shape = (1, 1, 4)
    scatter = SimpleNamespace(share=lambda prior: np.full(4, ground))
    zero, full = np.zeros((1, 4)), np.full((1, 4), unknown)
    found = covariance(np.full(shape, static), np.full(shape, rough), zero, full, scatter, zero, limits)
    return found[feature, feature]


class Drawn(HypothesisBank):
    """A bank that returns what its members would be made of."""

    def _predictor(self, robot, ground=None):
        return robot, ground


def drawn(limits, *, high=True):
    """Relative stiffness, friction, slope [deg], roughness [m], payload [kg], its x, y [m] at the end of each range."""
    draw = SimpleNamespace(uniform=lambda low, top, n=None: np.full(n, top) if n else (top if high else low))
    bank = Drawn(ROBOT, 0.02, 4e-3, 10, 0, limits=limits)
    (robot, ground), wrench = bank._member(draw)
    rough = bank._rough(draw, 1)[0][1].rough
    payload = -wrench[2] / ROBOT.gravity
    stiffness = robot.servo.stiffness / ROBOT.servo.stiffness - 1.0
    place = wrench[4] / -wrench[2], wrench[3] / wrench[2]
    slope = math.degrees(math.atan(math.hypot(ground.slope_x, ground.slope_y)))
    return stiffness, ground.friction, slope, rough, payload, *place


def compares_pairs(limits, declared):
    """Whether a bank whose singles leave this probability to the declared robot simulates pairs."""
    asked = []
    posterior = SimpleNamespace(declared=declared)
    view = SimpleNamespace(noise=np.ones((5, 21)), features=lambda *_: np.zeros((5, 21)))
    result = np.zeros((96, 18)), np.zeros((96, 3))
    settings = replace(DetectorSettings(members=4), limits=limits)
    run = SimpleNamespace(_settings=settings, diverged={}, _kept=lambda names, found: (names, found))
    job = SimpleNamespace(
        view=view,
        singles=[LM],
        pairs=[both(LM, RR)],
        pair_tasks=[lambda: asked.append(1) or result],
        moved=np.zeros((5, 21)),
        cancelled=SimpleNamespace(is_set=lambda: False),
    )
    with (
        patch.object(bank_run, "posterior_of", lambda *_: posterior),
        patch.object(bank_run, "covariance", lambda *_: 0),
    ):
        BankRun._compare(run, job, [result] * 10, np.zeros((5, 21)), np.zeros((5, 21)), None)
    return bool(asked)


# ---- posterior


def explained(limits, x, mean, noise=1.0):
    """Posterior of one hypothesis of features x, mean (K, 4) with independent noise."""
    x, mean = np.atleast_2d(np.array(x, float)), np.atleast_2d(np.array(mean, float))
    cov = noise**2 * np.eye(x.size)
    return posterior_of(x, np.full(x.shape, noise), cov, mean[None], np.array([0.0]), limits)


def left_by(limits, x, mean, noise=1.0):
    """Chi-square per feature that it leaves."""
    return float(explained(limits, x, mean, noise).misfit[0])


PART = [10.0, 0.0, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0]  # in the onset's window
FULL = [[6.0, 0, 0, 0], [20.0, 0, 0, 0]], [[10.0, 0, 0, 0], [10.0, 0, 0, 0]]  # in the onset's window and the next
SPUN = [0.0, 0.06, 0.0, 1.0], [0.0, 0.1, 0.0, 0.0], 0.01  # a tilt as predicted, and a yaw rate

# ---- banks in a row


def bank(*probabilities, onset=1, odds=100.0, misfit=0.3, declared=2.0, tilt=8.0):
    """A Posterior of HYPOTHESES with these probabilities; odds: of the most probable one; tilt: of all."""
    p = np.array(probabilities)
    log_odds = odds + np.log(np.maximum(p, 1e-20) / p.max())
    ones = np.ones(len(p))
    onsets = np.full(len(p), onset)
    return Posterior(p, log_odds, onsets, 1.0 - p.sum(), misfit * ones, np.float64(declared), SLICES, tilt * ones)


def of_foot(**values):
    """A bank that is sure of LM."""
    return bank(0.999, 0.0, 0.0, 0.0, **values)


def of_other(**values):
    """A bank that is sure of RR."""
    return bank(0.0, 0.999, 0.0, 0.0, **values)


def of_joint(**values):
    """A bank that is sure of a limp joint."""
    return bank(0.0, 0.0, 0.0, 0.999, **values)


def evidence_of(limits):
    """LastingEvidence with these limits."""
    return LastingEvidence(replace(DetectorSettings(), limits=limits))


def declares(limits, *banks, at=None, evidence=None):
    """Whether the last of these banks, and no other, declares a foot or a joint."""
    evidence = evidence or evidence_of(limits)
    times = at or [0.32 * k for k in range(len(banks))]
    found = [evidence.look(t, HYPOTHESES, one) is not None for t, one in zip(times, banks, strict=True)]
    return found[-1] and not any(found[:-1])


def twice(limits, **values):
    """Whether two equal banks declare a foot."""
    return declares(limits, *[of_foot(**values)] * 2)


def three_times(limits, odds=30.0):
    """Whether the last of three equal banks declares a foot that fits better than the declared robot, and no more."""
    return declares(limits, *[of_foot(misfit=2.5, declared=4.0, tilt=18.0, odds=odds)] * 3)


def four_times(limits, **values):
    """Whether the last of four equal banks declares a foot."""
    return declares(limits, *[of_foot(**values)] * 4)


def probed(limits, misfit=0.3, second=0.6):
    """Whether two banks without tilt declare a foot that is pressed from 0 s on."""
    evidence = evidence_of(limits)
    evidence.pressed(0.0, "LM lost")
    banks = [of_foot(misfit=misfit, declared=3.0, tilt=0.0)] * 2
    return declares(limits, *banks, at=[0.3, second], evidence=evidence)


def undecided(limits, *banks):
    """Whether the last of the banks cannot tell of LM."""
    evidence = evidence_of(limits)
    for k, one in enumerate(banks):
        evidence.look(0.32 * k, HYPOTHESES, one)
    return evidence.undecided == "LM lost"


def after_a_loss(limits, at, odds, leant=0.0, **values):
    """Whether the last of two banks at these times [s] declares RR, after LM has been declared at 0.32 s; leant: share
    of the predicted lean.
    """
    evidence = evidence_of(limits)
    for k in range(2):
        evidence.look(0.32 * k, HYPOTHESES, of_foot())
    evidence.clear()
    other = replace(of_other(odds=odds, **values), leant=np.full(4, leant))
    return declares(limits, *[other] * len(at), at=at, evidence=evidence)


def second(limits, odds=100.0, misfit=2.0):
    """Whether the last of two banks declares RR, pressed down because it may have been lost together with LM; the
    declared robot leaves 5.
    """
    evidence = evidence_of(limits)
    for k in range(2):
        evidence.look(0.32 * k, HYPOTHESES, bank(0.1, 0.0, 0.899, 0.0))
    evidence.clear()
    evidence.pressed(0.7, "RR lost")
    banks = [of_other(odds=odds, misfit=misfit, declared=5.0, tilt=1.0)] * 2
    return declares(limits, *banks, at=[1.0, 1.32], evidence=evidence)


# ---- one foot or two

ONE_AND_BOTH, READY, SURE = [LM, both(LM, RR)], {0: 1.0, 1: 1.0}, {"LM lost", "RR lost"}


def chosen(limits, gain, *, share=0.2, onset=2, fits=1.0, tilt=0.0, alone=50.0, in_a_row=np.inf):
    """one, both or None: what is declared where the pair gains so much, and leaves this share of the chi-square.

    alone: log odds of the foot; in_a_row: what roll and pitch say for the pair in all banks.
    """
    odds, left = np.array([alone, alone + gain]), np.array([1.0, share])
    tilts = np.array([0.0, tilt])
    posterior = Posterior(np.zeros(2), odds, np.full(2, onset), 0.0, left, 20.0, SLICES, tilts)
    found = choose(ONE_AND_BOTH, posterior, {0: fits, 1: 1.0}, SURE, False, limits, tilt=in_a_row)
    return {None: None, 0: "one", 1: "both"}[found]


def weighed(gain, tilt):
    """A Posterior of HYPOTHESES in which both(LM, RR) gains so much over LM, the best single foot."""
    odds, tilts = np.array([50.0, 0.0, 50.0 + gain, -50.0]), np.array([20.0, 20.0, 20.0 + tilt, 0.0])
    return Posterior(np.zeros(4), odds, np.ones(4, int), 0.0, np.ones(4), 20.0, SLICES, tilts)


def lasts(limits, *banks):
    """Whether the last of these banks (gain, tilt), and no other, is enough for the pair."""
    evidence = PairEvidence(limits)
    found = [evidence.look(HYPOTHESES, weighed(*one)) for one in banks]
    return found[-1] and not any(found[:-1])


def is_clear(limits, *apart):
    """Whether, in the last of these banks and in no other, a pair is clear of another that explains so much less."""
    hypotheses, evidence = [*HYPOTHESES, both(LM, short(ROBOT, "LF", 0.5))], PairEvidence(limits)
    found = []
    for one in apart:
        odds, zero = np.array([0.0, 0.0, 50.0, -50.0, 50.0 - one]), np.zeros(5)
        evidence.look(hypotheses, Posterior(zero, odds, np.ones(5, int), 0.0, np.ones(5), 20.0, SLICES, zero))
        found.append(evidence.clear_of_others)
    return found[-1] and not any(found[:-1])


def second_is_doubted(limits, gain):
    """Whether the second foot of a pair that gains so much is to be probed."""
    return doubted(HYPOTHESES, weighed(gain, 0.0), LM, limits) == "RR"


def asks(limits, time, suspect=None, undecided=None, before=None, doubt=False):
    """Whether a probe is asked for at a time [s]; before: [s] of another one."""
    probe = Probe(limits)
    if before is not None:
        probe.asks(before, None, "LM")
    if doubt:
        probe.doubt(0.0, "LM")
    return probe.asks(time, suspect, undecided) == "LM"


EDGES = {
    "covariance_scale": lambda l: near(variance(l), 6.3e-6),
    "floor_joint": lambda l: near(variance(l), 6.3e-6),
    "floor_tilt": lambda l: near(variance(l, feature=1), 2.8e-6) and near(variance(l, feature=2), 2.8e-6),
    "floor_turn": lambda l: near(variance(l, feature=3), 4.48e-5),
    "small_ensemble": lambda l: near(variance(l, static=1.0), 0.91, 0.03),
    "least_unknown": lambda l: near(variance(l, static=1.0, unknown=0.0), 0.0819),
    "smoothest": lambda l: near(variance(l, rough=1.0, ground=0.0), 0.2275),
    "roughest": lambda l: near(variance(l, rough=1.0, ground=10.0), 1.82),
    "ensemble_stiffness": lambda l: near(drawn(l)[0], 0.2) and near(drawn(l, high=False)[0], -0.2),
    "ensemble_slippery": lambda l: near(drawn(l, high=False)[1], 0.4),
    "ensemble_grippy": lambda l: near(drawn(l)[1], 1.0),
    "ensemble_slope": lambda l: near(drawn(l)[2], 3.0),
    "ensemble_rough": lambda l: near(drawn(l)[3], 0.008),
    "ensemble_payload": lambda l: near(drawn(l)[4], 0.23),
    "ensemble_place_x": lambda l: near(drawn(l)[5], 0.06),
    "ensemble_place_y": lambda l: near(drawn(l)[6], 0.03),
    "diverged": lambda l: (
        [has_diverged(np.zeros((2, 3)), np.zeros((2, 3, 3)), np.full((2, 18), q), l.diverged) for q in (90.0, 110.0)]
        == [False, True]
    ),
    "pairs_from": lambda l: compares_pairs(l, 0.45) and not compares_pairs(l, 0.55),
    "sharpest": lambda l: near(explained(l, [1.0, 0, 0, 0], [1.0, 0, 0, 0]).log_odds[0], 1.126),
    "alone": lambda l: near(left_by(l, *PART), 0.1798),
    "onset_part": lambda l: near(left_by(l, *PART), 0.1798),
    "onset_spread": lambda l: near(left_by(l, *PART), 0.1798),
    "together": lambda l: near(left_by(l, *FULL), 0.658),
    "spin": lambda l: near(left_by(l, *SPUN), 2.77),
    "misfit": lambda l: twice(l, misfit=0.76, declared=5.0) and not twice(l, misfit=0.84, declared=5.0),
    "joint_misfit": lambda l: (
        declares(l, of_joint(misfit=1.1, declared=5.0)) and not declares(l, of_joint(misfit=1.2, declared=5.0))
    ),
    "small_share": lambda l: twice(l, misfit=1.9, declared=20.0) and not twice(l, misfit=2.1, declared=20.0),
    "share_left": lambda l: twice(l, misfit=0.66, declared=1.0) and not twice(l, misfit=0.74, declared=1.0),
    "joint_share_left": lambda l: (
        declares(l, of_joint(misfit=0.47, declared=1.0)) and not declares(l, of_joint(misfit=0.53, declared=1.0))
    ),
    "misfit_tilted": lambda l: (
        twice(l, misfit=1.14, declared=5.0, tilt=12.0) and not twice(l, misfit=1.26, declared=5.0, tilt=12.0)
    ),
    "clear_tilt": lambda l: (
        twice(l, misfit=1.1, declared=5.0, tilt=10.5) and not twice(l, misfit=1.1, declared=5.0, tilt=9.5)
    ),
    "misfit_probed": lambda l: probed(l, misfit=1.5) and not probed(l, misfit=1.7),
    "poor_misfit": lambda l: (
        four_times(l, misfit=2.75, declared=20.0) and not four_times(l, misfit=3.05, declared=20.0)
    ),
    "poor_share": lambda l: four_times(l, misfit=2.4, declared=10.0) and not four_times(l, misfit=2.6, declared=10.0),
    "poor_weight": lambda l: declares(replace(l, lasting_banks=3), *[of_foot(misfit=2.4, declared=10.0)] * 6),
    "lasting_banks": lambda l: twice(l, tilt=20.0),
    "lasting_odds": lambda l: twice(l, odds=10.5) and not twice(l, odds=9.5),
    "lasting_tilt": lambda l: twice(l, tilt=8.0) and not twice(l, tilt=7.0),
    "relative_share": lambda l: (
        twice(l, misfit=7.2, declared=10.0, tilt=50.0) and not twice(l, misfit=7.8, declared=10.0, tilt=50.0)
    ),
    "relative_misfit": lambda l: (
        twice(l, misfit=11.5, declared=100.0, tilt=50.0)
        and not twice(l, misfit=12.5, declared=100.0, tilt=50.0)
        and twice(l, misfit=11.5, declared=1000.0, tilt=10.0)
        and not twice(l, misfit=12.5, declared=1000.0, tilt=10.0)
    ),
    "relative_tilt": lambda l: (
        undecided(l, *[of_foot(misfit=7.0, declared=10.0, tilt=16.0)] * 2)
        and not undecided(l, *[of_foot(misfit=7.0, declared=10.0, tilt=14.0)] * 2)
    ),
    "sure_tilt": lambda l: (
        twice(l, misfit=7.0, declared=10.0, tilt=34.0) and not twice(l, misfit=7.0, declared=10.0, tilt=31.0)
    ),
    "sure_banks": lambda l: three_times(l),
    "sure_odds": lambda l: three_times(l, 13.7) and not three_times(l, 13.0),
    "probed_tilt": lambda l: (
        [undecided(l, of_foot(tilt=-5.0), of_foot(misfit=7.0, declared=10.0, tilt=tilt)) for tilt in (19.0, 21.0)]
        == [False, True]
    ),
    "half_cycle": lambda l: twice(l, onset=2) and not twice(l, onset=3),
    "obvious": lambda l: after_a_loss(l, [1.0], 85.0, 1.0) and not after_a_loss(l, [1.0], 75.0, 1.0),
    "obvious_lean": lambda l: after_a_loss(l, [1.0], 90.0, 0.65) and not after_a_loss(l, [1.0], 90.0, 0.55),
    "obvious_in_all": lambda l: after_a_loss(l, [1.0, 1.32], 105.0) and not after_a_loss(l, [1.0, 1.32], 95.0),
    "aftermath": lambda l: after_a_loss(l, [6.6, 7.0], 60.0) and not after_a_loss(l, [5.4, 5.8], 60.0),
    "after_probe": lambda l: probed(l, second=1.8) and not probed(l, second=2.0),
    "second_share": lambda l: (
        second(l, misfit=2.4)
        and not second(l, misfit=2.6)
        and after_a_loss(l, [1.0], 90.0, 1.0, misfit=2.4, declared=5.0, tilt=20.0)
        and not after_a_loss(l, [1.0], 90.0, 1.0, misfit=2.6, declared=5.0, tilt=20.0)
    ),
    "second_odds": lambda l: second(l, 46.0) and not second(l, 44.0),
    "alone_early": lambda l: chosen(l, 18.0) == "one" and chosen(l, 22.0) is None,
    "pair": lambda l: chosen(l, 23.0, onset=0) == "one" and chosen(l, 27.0, onset=0) == "both",
    "pair_at_once": lambda l: chosen(l, 56.0) is None and chosen(l, 64.0) == "both",
    "pair_share": lambda l: chosen(l, 100.0, share=0.37) == "both" and chosen(l, 100.0, share=0.43) is None,
    "poor_alone": lambda l: chosen(l, -0.5, fits=0.5) == "one" and chosen(l, 0.5, fits=0.5) is None,
    "doubtful": lambda l: second_is_doubted(l, 2.4) and not second_is_doubted(l, 1.6),
    "pair_of_all": lambda l: (
        [chosen(l, gain, alone=1000.0, in_a_row=0.0, share=0.5, onset=0) for gain in (110.0, 90.0)] == ["both", "one"]
        and chosen(l, 90.0, alone=1000.0, in_a_row=0.0, share=0.3, onset=0) == "both"
    ),
    "other_tilt": lambda l: chosen(l, 90.0, tilt=-2.6) == "both" and chosen(l, 90.0, tilt=-3.4) == "one",
    "pair_apart": lambda l: is_clear(l, 21.0) and not is_clear(l, 19.0),
    "pair_apart_in_all": lambda l: is_clear(l, *[9.0] * 5) and not is_clear(l, *[7.5] * 5),
    "pair_banks": lambda l: lasts(l, *[(40.0, 9.0)] * 2),
    "pair_odds": lambda l: lasts(l, *[(16.0, 9.0)] * 2) and not lasts(l, *[(14.0, 9.0)] * 2),
    "pair_tilt": lambda l: lasts(l, *[(40.0, 4.3)] * 2) and not lasts(l, *[(40.0, 3.7)] * 2),
    "pair_more_banks": lambda l: lasts(l, *[(60.0, 1.0)] * 3),
    "pair_more_odds": lambda l: lasts(l, *[(35.0, 0.5)] * 3) and not lasts(l, *[(31.0, 0.5)] * 3),
    "pair_no_tilt": lambda l: (
        lasts(l, *[(60.0, 0.1)] * 3)
        and not lasts(l, *[(60.0, -0.1)] * 3)
        and [chosen(l, 90.0, in_a_row=tilt, share=0.5, onset=0) for tilt in (0.1, -0.1)] == ["both", "one"]
        and chosen(l, 90.0, in_a_row=-0.1, share=0.3, onset=0) == "one"
    ),
    "probe_suspected": lambda l: asks(l, 1.7, ("LM lost", 0.9, 0.0)) and not asks(l, 1.5, ("LM lost", 0.9, 0.0)),
    "probe_pause": lambda l: asks(l, 8.5, undecided="LM", before=0.0) and not asks(l, 7.5, undecided="LM", before=0.0),
    "probe_changed": lambda l: asks(l, 0.11, doubt=True) and not asks(l, 0.09, doubt=True),
}
