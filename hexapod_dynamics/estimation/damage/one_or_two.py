"""Decides whether one lost foot or two explain the measurements, or whether the next bank is to be awaited.

Two feet explain nearly everything that one explains, because their prediction has one direction more. Therefore the
gain g, the log odds of the best pair less those of the best single foot, has to exceed a limit, and the more so the
less time has passed: a foot that is lost together with one in the other half of the gait shows only when its leg should
carry, and a body that tips over on rough ground may for some slices look as if it had lost another foot too.

    g >= 60, and the pair leaves 0.4 of what the foot alone leaves     the pair, at once
    g < -8, or g < 0 in a bank after one that was awaited              the foot alone
    all slices are later than the onset                                the pair if g >= 25, else the foot alone
    else                                                               wait

A foot that fits poorly (LastingEvidence) is declared alone only by the second line.
"""

from __future__ import annotations

from hexapod_dynamics.estimation.damage.hypotheses import Hypothesis, groups_of, of_foot
from hexapod_dynamics.estimation.damage.posterior import Posterior

_AT_ONCE, _SHARE = 60.0, 0.4  # log odds; chi-square of the pair as a share of the single foot's
_ALONE, _ALONE_LATER = -8.0, 0.0  # log odds below which there is no second foot: at first, and after a wait
_AT_LAST = 25.0  # log odds of a pair when the whole window is later than the onset


class OneOrTwo:
    """Compares the best lost foot with the best pair of a bank; remembers whether a bank was awaited."""

    def __init__(self) -> None:
        self._waited = False

    def clear(self) -> None:
        """Forget that a bank was awaited."""
        self._waited = False

    def choose(
        self, hypotheses: list[Hypothesis], posterior: Posterior, good: dict[int, float], sure: set[str]
    ) -> int | None:
        """Return the index of the Hypothesis to declare, None: wait.

        good: indices of those one of whose legs may be declared: 1 where it fits, less where poorly, 0 where not; sure:
        legs of which the bank is sure.
        """
        feet = [k for k, one in enumerate(hypotheses) if of_foot(one)]
        odds = posterior.log_odds
        one = max((k for k in feet if len(groups_of(hypotheses[k])) == 1), key=lambda k: odds[k])
        two = max((k for k in feet if len(groups_of(hypotheses[k])) == 2), key=lambda k: odds[k], default=None)
        if two is None:
            return one if good.get(one) else None
        gain, whole = float(odds[two] - odds[one]), posterior.onset[one] == 0
        at_once = gain >= _AT_ONCE and posterior.misfit[two] <= _SHARE * posterior.misfit[one]
        if good.get(two) and set(groups_of(hypotheses[two])) <= sure and (at_once or (whole and gain >= _AT_LAST)):
            return two
        fits = good.get(one, 0.0)
        limit = _AT_LAST if whole and fits >= 1.0 else _ALONE_LATER if self._waited or whole else _ALONE
        if fits and gain < limit:
            return one
        self._waited = True
        return None
