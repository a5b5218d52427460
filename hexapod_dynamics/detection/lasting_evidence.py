"""Which leg or joint the banks agree on: evidence of banks in a row, summed for each leg and each joint.

A leg has lost its foot with the probability of all hypotheses in which it has, alone or with another leg, because the
stump's length and a second damage are less certain than the leg.
"""

from __future__ import annotations

import math
from typing import Any

from hexapod_dynamics.detection.hypotheses import Hypothesis, groups_of, of_foot
from hexapod_dynamics.detection.one_or_two import PairEvidence, choose, doubted
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.settings import DetectorSettings

# Chi-square per feature above which a foot, a joint does not explain what is measured, unless it is a small share of
# the declared robot's; and a share of it that is too large: after a push on rough ground each explains a little.
_MISFIT, _JOINT_MISFIT, _SMALL_SHARE = 0.8, 1.15, 0.1
_LEFT, _JOINT_LEFT = 0.7, 0.5
# The same of a foot to which roll and pitch alone contribute this log likelihood ratio, and of one that was pressed.
_MISFIT_OF_TILTED, _CLEARLY, _MISFIT_OF_PROBED = 1.2, 10.0, 1.6
# A hypothesis that leaves more, but less than this and than this share of the declared robot's chi-square, counts half:
# a robot that stands on its stump in each cycle tips otherwise than the simulated one, and keeps doing so. Healthy
# robots that are pushed on rough ground leave a share of 0.7.
_POOR, _SHARE, _HALF = 2.9, 0.25, 0.5
# Sum of the log odds against the declared state over banks in a row that are sure of the same leg, from which its foot
# is declared lost, and the number of these banks. Log likelihood ratios that roll and pitch contribute to the last two
# of them together: healthy robots that are pushed on rough ground are suspected by their joints (tilt: up to 6 in two
# banks with the default gait, 11 with a tripod that has just begun).
_ODDS, _BANKS, _TILT = 20.0, 2, 15.0
# For a while [s] after a foot was declared lost one bank suffices, whatever roll and pitch contribute, but its log odds
# have to exceed _OBVIOUS: the model has fallen otherwise than the robot (healthy feet: up to 224, second feet that
# should carry: 590 and more).
_OBVIOUS, _AFTERMATH = 400.0, 6.0
# For this long [s] after its foot was pressed down two banks suffice. In this time no two banks in a row were sure of
# any of 16 healthy feet that were pressed, and of all of 12 lost ones, whatever tilt contributed. Later some were.
_PROBED = 1.9
# Slices since the onset after which a lost foot is declared: one that was lost at the same moment in the other half of
# the gait shows only when its leg should carry.
_HALF_CYCLE = 3


class LastingEvidence:
    """Remembers of which legs and joints the last banks were sure.

    suspected: (group, probability) of the most probable leg or joint of the last bank, None where none is probable.
    undecided: group that the last two banks are sure of but roll and pitch do not confirm enough to declare it.
    doubted: the leg that may have lost its foot together with the one that the last bank declared, None: no leg.
    """

    def __init__(self, settings: DetectorSettings) -> None:
        self._settings = settings
        self._declared_at = -math.inf
        self._pressed = "", -math.inf
        self._pair = PairEvidence()
        self.clear()

    def clear(self) -> None:
        """Forget all banks."""
        self.suspected: tuple[str, float] | None = None
        # group: weight of the banks in a row, the same with those that fit relative to the declared robot, sum of their
        # log odds, what roll and pitch contribute to the last one
        self._sure: dict[str, tuple[float, float, float, float]] = {}
        self.undecided = ""
        self._pair.clear()
        self.doubted: str | None = None

    def pressed(self, time: float, group: str) -> None:
        """Note that the foot of a leg is pressed down from `time` [s] on: what the banks said before does not count."""
        self._pressed = group, time
        self._sure.pop(group, None)

    def look(self, time: float, hypotheses: list[Hypothesis], posterior: Posterior) -> tuple[Hypothesis, float] | None:
        """Use the Posterior of a bank at `time` [s]; return a Hypothesis to declare and the probability of its leg or
        joint.

        A joint that does not follow is returned at once, since its readings confirm it; a lost foot when several banks
        were sure of its leg, alone or with another (one_or_two).
        """
        self.undecided = ""
        lasting_pair = self._pair.look(hypotheses, posterior)
        groups: dict[str, list[int]] = {}
        for k, hypothesis in enumerate(hypotheses):
            for group in groups_of(hypothesis):
                groups.setdefault(group, []).append(k)
        probability = {group: float(posterior.probability[members].sum()) for group, members in groups.items()}
        top = max(probability, key=lambda group: probability[group], default="")
        if not top or probability[top] < self._settings.suspect:
            self.clear()
            return None
        self.suspected = top, probability[top]
        # A bank in between that suspects the leg, and is not sure of it, does not count, and ends nothing.
        row = {
            group: sums for group, sums in self._sure.items() if probability.get(group, 0.0) >= self._settings.suspect
        }
        sure, ready, joints = set(), [], []
        latest = posterior.slices - _HALF_CYCLE
        aftermath = time < self._declared_at + _AFTERMATH
        probed = self._pressed[0] if time < self._pressed[1] + _PROBED else ""
        for group, members in groups.items():
            best = max(members, key=lambda k: posterior.probability[k])
            weight = _weight(hypotheses[best], posterior, best, probed == group)
            relative = 1.0 if self._fits_relatively(hypotheses[best], posterior, best) else 0.0
            if probability[group] < self._settings.declare or max(weight, relative) == 0.0:
                continue
            sure.add(group)
            count, relatives, odds, before = row.get(group, (0.0, 0.0, 0.0, 0.0))
            count, relatives = count + weight, relatives + max(weight, relative)
            odds, tilt = odds + float(posterior.log_odds[best]), float(posterior.tilt[best])
            row[group] = count, relatives, odds, tilt
            if not of_foot(hypotheses[best]):
                joints.append(hypotheses[best])
                continue
            obvious = float(posterior.log_odds[best]) >= _OBVIOUS
            limits, both = self._settings.limits, before + tilt
            lasting = count >= _BANKS and odds >= _ODDS and (both >= _TILT or probed == group)
            if not lasting and relatives >= _BANKS and odds >= _ODDS:
                lasting = both >= limits.sure_tilt or probed == group
                self.undecided = group if not lasting and both >= limits.probed_tilt else self.undecided
            if (obvious if aftermath and probed != group else lasting) and posterior.onset[best] <= latest:
                ready.append(group)
        self._sure = row
        if joints:
            return joints[0], probability[top]
        if not ready:
            return None
        alone = [k for group in ready for k in groups[group] if len(groups_of(hypotheses[k])) == 1]
        if aftermath and ready == [probed] and alone:  # the press has tested no other leg
            best = max(alone, key=lambda k: posterior.log_odds[k])
            return self._declare(time, hypotheses[best], probability[probed])
        good = {
            k: max(_weight(hypotheses[k], posterior, k, probed == group), fits)
            for group in ready
            for k in groups[group]
            for fits in [float(self._fits_relatively(hypotheses[k], posterior, k))]
        }
        chosen = choose(hypotheses, posterior, good, sure, lasting_pair)
        if chosen is None:
            return None
        self.doubted = None if aftermath else doubted(hypotheses, posterior, hypotheses[chosen])
        return self._declare(time, hypotheses[chosen], probability[ready[0]])

    def _fits_relatively(self, hypothesis: Hypothesis, posterior: Posterior, k: Any) -> bool:
        """Whether a foot leaves clearly less than the declared robot, and tilts the body as it is tilted.

        A healthy robot whose servos are not those of the model leaves more than any absolute limit.
        """
        limits = self._settings.limits
        most = min(limits.relative_share * float(posterior.misfit_declared), limits.relative_misfit)
        tilts = float(posterior.tilt[k]) >= limits.relative_tilt
        return of_foot(hypothesis) and tilts and float(posterior.misfit[k]) <= most

    def _declare(self, time: float, hypothesis: Hypothesis, probability: float) -> tuple[Hypothesis, float]:
        self._declared_at = time
        return hypothesis, probability


def _weight(hypothesis: Hypothesis, posterior: Posterior, k: Any, probed: bool = False) -> float:
    """How much a bank counts for its hypothesis `k`: 1 if it fits, a half if it fits poorly, 0 if it does not.

    probed: its foot is pressed down, or was a moment ago, so that more may be left.
    """
    left, whole = float(posterior.misfit[k]), float(posterior.misfit_declared)
    foot = of_foot(hypothesis)
    most, share = (_MISFIT, _LEFT) if foot else (_JOINT_MISFIT, _JOINT_LEFT)
    tilts = foot and left < _MISFIT_OF_TILTED and posterior.tilt[k] >= _CLEARLY
    shows = tilts or (probed and left < _MISFIT_OF_PROBED)
    if (shows or left < max(most, _SMALL_SHARE * whole)) and left <= share * whole:
        return 1.0
    return _HALF if foot and left < min(_POOR, _SHARE * whole) else 0.0
