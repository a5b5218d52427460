"""Decides whether one lost foot or two explain the measurements, or whether the next bank is to be awaited.

Two feet explain nearly everything that one explains, because their prediction has one direction more, and a body that
tips over on rough ground may for some slices look as if it had lost another foot too. Therefore the gain g, the log
odds of the best pair less those of the best single foot, has to exceed a limit:

    g >= 60, and the pair leaves 0.4 of what the foot alone leaves     the pair, at once
    g < 20                                                             the foot alone
    all slices are later than the onset                                the pair if g >= 25, else the foot alone
    else                                                               wait

A foot that fits poorly (LastingEvidence) is declared alone only where g < 0. A second foot that was lost with the first
in the other half of the gait is found after the first has been declared: the model goes on from the onset without the
first, and the second shows when the new gait puts weight on it.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.estimation.damage.hypotheses import Hypothesis, groups_of, of_foot
from hexapod_dynamics.estimation.damage.posterior import Posterior

_ALONE = 20.0  # log odds below which a foot is declared alone before the window is full
_PAIR = 25.0  # log odds from which two feet are lost
_AT_ONCE, _SHARE = 60.0, 0.4  # log odds; chi-square of the pair as a share of the single foot's
_POOR = 0.0  # log odds below which a foot that fits poorly is alone


def choose(hypotheses: list[Hypothesis], posterior: Posterior, good: dict[int, float], sure: set[str]) -> int | None:
    """Return the index of the Hypothesis to declare, None: wait.

    good: indices of those one of whose legs may be declared: 1 where it fits, less where poorly, 0 where not; sure:
    legs of which the bank is sure.
    """
    feet = [k for k, one in enumerate(hypotheses) if of_foot(one)]
    odds = posterior.log_odds
    one = max((k for k in feet if len(groups_of(hypotheses[k])) == 1), key=lambda k: odds[k], default=None)
    two = max((k for k in feet if len(groups_of(hypotheses[k])) == 2), key=lambda k: odds[k], default=None)
    if one is None:
        return None
    fits = good.get(one, 0.0)
    gain = -np.inf if two is None else float(odds[two] - odds[one])
    full = posterior.onset[one] == 0
    if two is not None and good.get(two) and set(groups_of(hypotheses[two])) <= sure and gain >= _PAIR:
        if full or (gain >= _AT_ONCE and posterior.misfit[two] <= _SHARE * posterior.misfit[one]):
            return two
    limit = _POOR if fits < 1.0 else _PAIR if full else _ALONE
    return one if fits and gain < limit else None
