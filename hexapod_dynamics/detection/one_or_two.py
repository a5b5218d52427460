"""Decides whether one lost foot or two explain the measurements, or whether to wait for the next bank.

Two feet explain nearly everything that one explains, because their prediction has one more direction, and a body
that tips over on rough ground may look for some slices as if it had lost another foot, too. Therefore the gain g,
the log odds of the best pair less those of the best single foot, has to exceed a limit:

    g >= 60, and the pair leaves 0.4 of what the foot alone leaves     the pair, at once
    the same pair in several banks in a row (PairEvidence)             the pair
    g < 20                                                             the foot alone
    all slices are later than the onset                                the pair if g >= 25, else the foot alone
    else                                                               wait

A pair that roll and pitch contradict in the sum of all consecutive banks is not declared: because of modelling
errors, every pair fits the joints slightly better. If they hardly support it, g must be 0.1 of what the foot alone
explains, or the pair must leave 0.4 of what the foot leaves. The pair must also be unambiguous: its log odds exceed
those of every other pair by 20, and it is not behind any of them in the sum of all consecutive banks, in which no
bank counts for more than 20, and no pair is further behind than 40; or it is ahead of them in this sum by 40. Until
then the detector waits for the next bank: half a cycle later a body that tips over moves in another direction.
While roll and pitch confirm a pair, no foot is declared alone either: the robot would change to a gait on the other
foot, tip over and sit, and a robot that sits shows nothing. A pair that would have leant the body three times as far
as it leans is no rival of one that predicts its lean.

A foot that fits poorly (LastingEvidence) is declared alone only if g < 0. A second foot, lost at the same time as
the first but in the other half of the gait, is found after the first has been declared: the model is repeated from
the onset without the first foot, and the second loss appears when the new gait puts weight on this foot, or when
it is pressed down (`doubted`, Probe).
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.hypotheses import Hypothesis, groups_of, leg_of_group, of_foot
from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.detection.posterior import Posterior


class PairEvidence:
    """Sums the evidence of the last consecutive banks in which the same pair of feet explains more than one foot.

    clear_of_others: whether that pair explains clearly more than every other pair; tilt: by how much more it explains
    roll and pitch than the single foot does, in these banks.
    """

    def __init__(self, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        self.clear()

    def clear(self) -> None:
        """Forget all banks."""
        self._scores: dict[frozenset[str], float] = {}  # by legs of a pair, in all banks in a row
        self._begin_again()

    def _begin_again(self) -> None:
        """Discard all banks, but keep the differences between the pairs."""
        self._legs: list[str] = []
        self._count, self._gain, self.tilt = 0, 0.0, 0.0
        self.clear_of_others = True

    def look(self, hypotheses: list[Hypothesis], posterior: Posterior) -> bool:
        """Add the Posterior of a bank; return True if the last banks suffice to declare its best pair."""
        one, two = _best(hypotheses, posterior)
        leads = two is not None and self._leads(hypotheses, posterior, two)
        if one is None or two is None or posterior.log_odds[two] <= posterior.log_odds[one]:
            self._begin_again()
            return False
        if groups_of(hypotheses[one])[0] not in groups_of(hypotheses[two]):
            # the best single foot is that of another leg: the body tips differently than both predict
            self._begin_again()
            self.clear_of_others = leads
            return False
        if groups_of(hypotheses[two]) != self._legs:
            self._begin_again()
            self._legs = groups_of(hypotheses[two])
        self._count += 1
        self._gain += float(posterior.log_odds[two] - posterior.log_odds[one])
        self.tilt += float(posterior.tilt[two] - posterior.tilt[one])
        self.clear_of_others = leads
        limits, gain, tilt = self._limits, self._gain, self.tilt
        clear = self._count >= limits.pair_banks and gain >= limits.pair_odds and tilt >= limits.pair_tilt
        more = self._count >= limits.pair_more_banks and gain >= limits.pair_more_odds and tilt >= limits.pair_no_tilt
        return self.clear_of_others and (clear or more)

    @property
    def confirmed(self) -> bool:
        """Whether roll and pitch confirm that two feet are lost, though it may not be clear yet which."""
        return self.tilt >= self._limits.pair_tilt

    def _leads(self, hypotheses: list[Hypothesis], posterior: Posterior, two: int) -> bool:
        """Add a bank whose best pair is `two`; return whether this pair leads clearly: in this bank, and not behind in
        the sum of all banks in a row, or in this sum.

        No bank counts for more than `pair_apart`: after the robot has come to lie on its body, one bank may
        contradict all others. No pair is further behind than `pair_apart_in_all`: banks from before the loss,
        which suspected a foot, do not outweigh the ones that follow.
        """
        odds: dict[frozenset[str], float] = {}
        leans = posterior.leant is not None and posterior.leant[two] >= self._limits.lean_predicted
        for k, one in enumerate(hypotheses):
            if of_foot(one) and len(groups_of(one)) == 2:
                legs = frozenset(groups_of(one))
                fell = leans and posterior.leant[k] < self._limits.lean_predicted
                odds[legs] = max(odds.get(legs, -np.inf), -np.inf if fell else float(posterior.log_odds[k]))
        limits, legs = self._limits, frozenset(groups_of(hypotheses[two]))
        best = odds.pop(legs)
        self._scores.setdefault(legs, 0.0)
        for pair in self._scores.keys() | odds.keys() - {legs}:
            behind = min(limits.pair_apart, best - odds.get(pair, -np.inf)) if pair != legs else 0.0
            self._scores[pair] = self._scores.get(pair, 0.0) - behind
        least = max(self._scores.values()) - limits.pair_apart_in_all
        self._scores = {pair: max(score, least) for pair, score in self._scores.items()}
        others = [score for pair, score in self._scores.items() if pair != legs]
        lead = self._scores[legs] - max(others, default=-np.inf)
        apart = best - max(odds.values(), default=-np.inf)
        return lead >= limits.pair_apart_in_all or (apart >= limits.pair_apart and lead >= 0.0)


def choose(
    hypotheses: list[Hypothesis],
    posterior: Posterior,
    good: dict[int, float],
    sure: set[str],
    lasting: bool = False,
    limits: DetectorLimits = LIMITS,
    clear: bool = True,
    tilt: float = np.inf,
) -> int | None:
    """Return the index of the Hypothesis to declare, None: wait.

    good: for each hypothesis, 1 if it fits, less if it fits poorly, 0 if it does not or if none of its legs may be
    declared; sure: legs of which the bank is sure; lasting, clear, tilt: results of PairEvidence for the best
    pair.
    """
    one, two = _best(hypotheses, posterior)
    odds = posterior.log_odds
    if one is None:
        return None
    fits = good.get(one, 0.0)
    gain = -np.inf if two is None else float(odds[two] - odds[one])
    full = posterior.onset[one] == 0
    if two is not None and clear and good.get(two) and set(groups_of(hypotheses[two])) <= sure:
        much_better = posterior.misfit[two] <= limits.pair_share * posterior.misfit[one]
        little = tilt < limits.pair_tilt and gain < limits.pair_of_all * odds[one]
        weak = tilt < limits.pair_no_tilt or (little and not much_better)
        otherwise = posterior.tilt[two] - posterior.tilt[one] < limits.other_tilt
        if weak or (otherwise and not lasting):
            gain = -np.inf
        elif lasting:
            return two
        if gain >= limits.pair and (full or (gain >= limits.pair_at_once and much_better)):
            return two
    limit = limits.poor_alone if fits < 1.0 else limits.pair if full else limits.alone_early
    return one if fits and gain < limit else None


def doubted(
    hypotheses: list[Hypothesis], posterior: Posterior, declared: Hypothesis, limits: DetectorLimits = LIMITS
) -> str | None:
    """Return the leg that the best pair adds to a foot that is declared alone; None if the pair explains no more."""
    one, two = _best(hypotheses, posterior)
    if one is None or two is None or posterior.log_odds[two] - posterior.log_odds[one] < limits.doubtful:
        return None
    others = set(groups_of(hypotheses[two])) - set(groups_of(declared))
    return leg_of_group(others.pop()) if len(others) == 1 else None


def _best(hypotheses: list[Hypothesis], posterior: Posterior) -> tuple[int | None, int | None]:
    """Return the indices of the most probable single foot and of the most probable pair of feet."""
    odds = posterior.log_odds
    found: list[int | None] = []
    for count in (1, 2):
        some = (k for k, one in enumerate(hypotheses) if of_foot(one) and len(groups_of(one)) == count)
        found.append(max(some, key=lambda k: odds[k], default=None))
    return found[0], found[1]
