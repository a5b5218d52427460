"""Determines the leg or joint on which the banks agree: evidence of consecutive banks, summed for each leg and
each joint.

The probability that a leg has lost its foot is the sum over all hypotheses in which it has, alone or with another
leg, because the stump's length and a second damage are less certain than the leg.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.detection.hypotheses import Hypothesis, foot_group, groups_of, leg_of_group, of_foot
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.detection.one_or_two import PairEvidence, choose, doubted
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.suspected_feet import SuspectedFeet


@dataclass(frozen=True, eq=False)
class _Bank:
    """A bank at a time [s]; groups: indices of the hypotheses of each group, and their probability; aftermath: whether
    a loss was declared just before; probed: group of the foot that is pressed down, or was a moment ago; empty if
    none.
    """

    time: float
    hypotheses: list[Hypothesis]
    posterior: Posterior
    leaning: Leaning | None
    groups: dict[str, list[int]]
    probability: dict[str, float]
    aftermath: bool
    probed: str

    @classmethod
    def of(
        cls,
        time: float,
        hypotheses: list[Hypothesis],
        posterior: Posterior,
        leaning: Leaning | None,
        aftermath: bool,
        probed: str,
    ) -> _Bank:
        """Sort the hypotheses into groups."""
        groups: dict[str, list[int]] = {}
        for k, hypothesis in enumerate(hypotheses):
            for group in groups_of(hypothesis):
                groups.setdefault(group, []).append(k)
        probability = {group: float(posterior.probability[members].sum()) for group, members in groups.items()}
        return cls(time, hypotheses, posterior, leaning, groups, probability, aftermath, probed)


class LastingEvidence:
    """Stores of which legs and joints the last banks were sure.

    suspected: (group, probability) of the most probable leg or joint of the last bank, None if none is probable.
    undecided: group of which the last two banks are sure, but which roll and pitch do not confirm enough for a
    declaration; why: the reason in words. doubted: the leg that may have lost its foot together with the one that
    the last bank declared, None: no leg.
    """

    def __init__(self, settings: DetectorSettings) -> None:
        self._settings, self._limits = settings, settings.limits
        self._declared_at, self._second = -math.inf, ""  # the group that was suspected as second at that time
        self._pressed = "", -math.inf
        self._pair = PairEvidence(settings.limits)
        self._feet = SuspectedFeet(settings.limits)
        self.clear()

    def clear(self) -> None:
        """Forget all banks: the robot has changed."""
        self._feet.clear()
        self._first_suspected: dict[str, tuple[float, float]] = {}  # by group: first and last bank that suspects it
        self._end_row()

    def _end_row(self) -> None:
        self.suspected: tuple[str, float] | None = None
        # By group of hypotheses: weight of the banks in a row; weight of those that fit relative to the declared robot;
        # sum of their log odds; what roll and pitch contribute to the last one.
        self._sure: dict[str, tuple[float, float, float, float]] = {}
        # By group: time of the first bank in a row that suspects it, and what roll and pitch contribute to all of them.
        self._since: dict[str, float] = {}
        self._tilts: dict[str, float] = {}
        self.undecided = self.why = ""
        self._pair.clear()
        self.doubted: str | None = None

    def pressed(self, time: float, group: str) -> None:
        """Note that the foot of a leg is pressed down from `time` [s] on; earlier banks are not counted for it."""
        self._pressed = group, time
        self._sure.pop(group, None)

    def look(
        self, time: float, hypotheses: list[Hypothesis], posterior: Posterior, leaning: Leaning | None = None
    ) -> tuple[Hypothesis, float] | None:
        """Use the Posterior of a bank at `time` [s]; return a Hypothesis to declare and the probability of its leg or
        joint. leaning: how far the body leans.

        A joint that does not follow is returned at once, since its readings confirm it; a lost foot when several banks
        were sure of its leg, alone or with another (one_or_two).
        """
        self.undecided = self.why = ""
        lasting_pair = self._pair.look(hypotheses, posterior)
        aftermath = time < self._declared_at + self._limits.aftermath
        probed = self._pressed[0] if time < self._pressed[1] + self._limits.after_probe else ""
        bank = _Bank.of(time, hypotheses, posterior, leaning, aftermath, probed)
        probability = bank.probability
        top = max(probability, key=lambda group: probability[group], default="")
        self._note_suspected(time, probability)
        self._feet.note(time, self._sure_feet(probability), leaning is not None and leaning.is_held(time))
        if not top or probability[top] < self._settings.suspect:
            self._end_row()
            return None
        self.suspected = top, probability[top]
        self._since = {g: self._since.get(g, time) for g, p in probability.items() if p >= self._settings.suspect}
        self._tilts = {g: self._tilts.get(g, 0.0) + self._tilt_of(bank, g) for g in self._since}
        # A bank in between that suspects the leg without being sure is not counted, but does not end the row either.
        row = {
            group: sums for group, sums in self._sure.items() if probability.get(group, 0.0) >= self._settings.suspect
        }
        joints, sure, ready = self._add(bank, row)
        self._sure = row
        if joints:
            return joints[0], probability[top]
        return self._declare_foot(bank, ready, sure, lasting_pair) if ready else None

    def contradicted(self, group: str) -> bool:
        """Whether roll and pitch have contradicted a leg's loss, summed over the banks in a row that suspect it."""
        return self._tilts.get(group, 0.0) < 0.0

    def _tilt_of(self, bank: _Bank, group: str) -> float:
        """What roll and pitch contribute to the most probable hypothesis of a group [nats]."""
        best = max(bank.groups[group], key=lambda k: bank.posterior.probability[k])
        return float(bank.posterior.tilt[best])

    def _add(
        self, bank: _Bank, row: dict[str, tuple[float, float, float, float]]
    ) -> tuple[list[Hypothesis], set[str], list[str]]:
        """Add a bank to the banks in a row; return the joints that it is sure of, all groups that it is sure of, and
        those that may be declared to have lost their foot.
        """
        limits, posterior, aftermath = self._limits, bank.posterior, bank.aftermath
        joints, sure, ready = [], set(), []
        latest = posterior.slices - limits.half_cycle
        for group, members in bank.groups.items():
            best = max(members, key=lambda k: posterior.probability[k])
            hypothesis, probed = bank.hypotheses[best], bank.probed == group
            second = aftermath and probed and group == self._second
            weight = _weight(hypothesis, posterior, best, limits, probed)
            relative = 1.0 if self._fits_relatively(hypothesis, posterior, best, second) else 0.0
            if bank.probability[group] < self._settings.declare or max(weight, relative) == 0.0:
                continue
            sure.add(group)
            count, relatives, odds, before = row.get(group, (0.0, 0.0, 0.0, 0.0))
            count, relatives = count + weight, relatives + max(weight, relative)
            odds, tilt = odds + float(posterior.log_odds[best]), float(posterior.tilt[best])
            row[group] = count, relatives, odds, tilt
            if not of_foot(hypothesis):
                joints.append(hypothesis)
                continue
            lasting = self._lasts(group, row[group], before + tilt, probed, second, float(posterior.misfit[best]))
            in_all = row[group][1] >= limits.lasting_banks and odds >= limits.obvious_in_all
            obvious = aftermath and (in_all or (odds >= limits.obvious and self._leans_alone(bank, group)))
            suffices = obvious or (lasting and (probed or not aftermath))
            if suffices and (obvious or posterior.onset[best] <= latest):
                why = "" if probed or self._feet.lasts(bank.time, group) else self._why_uneven(bank, group, best)
                if why:
                    self.undecided, self.why = group, why
                else:
                    ready.append(group)
        return joints, sure, ready

    def _leans_alone(self, bank: _Bank, group: str) -> bool:
        """Whether a foot alone explains most of what the model leaves in which another is lost already, and the body
        leans as this loss predicts: intact feet leave more, and lean it otherwise.
        """
        limits, posterior = self._limits, bank.posterior
        alone = [k for k in bank.groups[group] if len(groups_of(bank.hypotheses[k])) == 1]
        k = max(alone, key=lambda k: posterior.log_odds[k], default=None)
        if k is None or posterior.misfit[k] > limits.second_share * posterior.misfit_declared:
            return False
        return posterior.leant is not None and bool(posterior.leant[k] >= limits.obvious_lean)

    def _lasts(
        self,
        group: str,
        sums: tuple[float, float, float, float],
        tilt: float,
        probed: bool,
        second: bool,
        misfit: float,
    ) -> bool:
        """Whether the banks in a row suffice for a foot: their `sums`, what roll and pitch contribute to the last two.

        probed: it is pressed down; second: because it may have been lost together with another. misfit: what it leaves.
        """
        limits, (count, relatives, odds, _) = self._limits, sums
        if odds < limits.lasting_odds:
            return False
        if count >= limits.lasting_banks and (tilt >= limits.lasting_tilt or probed):
            return True
        if relatives < limits.lasting_banks or (second and odds < limits.second_odds):
            return False
        often = relatives >= limits.sure_banks and odds >= limits.sure_odds and misfit < limits.poor_misfit
        if tilt >= limits.sure_tilt or (often and tilt >= 2.0 * limits.relative_tilt) or probed:
            return True
        if tilt >= limits.probed_tilt:
            self.undecided = group
            self.why = f"roll and pitch say {tilt:.0f} of {limits.sure_tilt:.0f} nats"
        return False

    def _declare_foot(
        self, bank: _Bank, ready: list[str], sure: set[str], lasting_pair: bool
    ) -> tuple[Hypothesis, float] | None:
        """Return the lost foot or the lost feet to declare, of groups that are `ready` for it, and the probability."""
        hypotheses, posterior, probed, limits = bank.hypotheses, bank.posterior, bank.probed, self._limits
        alone = [k for group in ready for k in bank.groups[group] if len(groups_of(hypotheses[k])) == 1]
        if bank.aftermath and ready == [probed] and alone:  # the contact probe has tested no other leg
            best = max(alone, key=lambda k: posterior.log_odds[k])
            return self._declare(bank.time, hypotheses[best], bank.probability[probed])
        good = {
            k: max(_weight(hypotheses[k], posterior, k, limits, probed == group), fits)
            for group in ready
            for k in bank.groups[group]
            for fits in [float(self._fits_relatively(hypotheses[k], posterior, k))]
        }
        pair = self._pair
        chosen = choose(hypotheses, posterior, good, sure, lasting_pair, limits, pair.clear_of_others, pair.tilt)
        if chosen is not None and self._may_be_uneven(bank.time, hypotheses[chosen], bank.leaning, probed):
            # A second foot may stand lower for some steps; the evidence of a lost foot lasts.
            alone = [k for k in alone if self._feet.lasts(bank.time, groups_of(hypotheses[k])[0])]
            chosen = max(alone, key=lambda k: posterior.log_odds[k], default=None)
        if chosen is None or (pair.confirmed and not bank.aftermath and len(groups_of(hypotheses[chosen])) == 1):
            return None
        self.doubted = None if bank.aftermath else doubted(hypotheses, posterior, hypotheses[chosen], limits)
        self._second = "" if self.doubted is None else foot_group(self.doubted)
        return self._declare(bank.time, hypotheses[chosen], bank.probability[ready[0]])

    def _note_suspected(self, time: float, probability: dict[str, float]) -> None:
        """Note which groups a bank suspects; a short gap does not end a suspicion."""
        for group, p in probability.items():
            if p >= self._settings.suspect:
                first, last = self._first_suspected.get(group, (time, time))
                self._first_suspected[group] = time if time - last > self._limits.suspected_gap else first, time

    def _sure_feet(self, probability: dict[str, float]) -> frozenset[str]:
        sure = (group for group, p in probability.items() if p >= self._settings.declare)
        return frozenset(group for group in sure if leg_of_group(group) is not None)

    def _why_uneven(self, bank: _Bank, group: str, best: int) -> str:
        """Return in words why uneven ground explains a foot, whose hypothesis is `best`; empty if it does not."""
        leant, leaning = bank.posterior.leant, bank.leaning
        if leaning is None:
            return ""
        share = 1.0 if leant is None else float(leant[best])
        if share < self._limits.lean_predicted:
            return f"the body leans by {share:.0%} of what this loss predicts"
        since = self._since.get(group, bank.time)
        alternate = self._feet.alternate(since, {group})
        return "" if bank.aftermath and not alternate else leaning.why_not(since, alternate)

    def _may_be_uneven(self, time: float, found: Hypothesis, leaning: Leaning | None, probed: str) -> bool:
        """Whether uneven ground explains a pair of feet, or a stump of nearly the tibia's length, equally well;
        both are distinguished from it only by several steps at several places.
        """
        groups = groups_of(found)
        since = min(self._first_suspected.get(group, (time, time))[0] for group in groups)
        rough = leaning is not None and leaning.is_rough(since - self._limits.pair_onset)
        if not rough or probed in groups or all(self._feet.lasts(time, group) for group in groups):
            return False
        if len(groups) == 1 and _left(found) < self._limits.long_stump:
            return False
        self.undecided, self.why = groups[0], f"the ground is uneven, and {found.name} may stand deeper"
        return True

    def _fits_relatively(self, hypothesis: Hypothesis, posterior: Posterior, k: Any, second: bool = False) -> bool:
        """Whether a lost foot leaves a clearly smaller chi-square than the declared robot, and predicts the
        measured tilt.

        A healthy robot whose servos differ from the model exceeds any absolute limit of chi-square. second: the
        foot is pressed down because it may have been lost together with the one that was declared last; it need
        not tilt.
        """
        limits = self._limits
        if second and of_foot(hypothesis):
            return float(posterior.misfit[k]) <= limits.second_share * float(posterior.misfit_declared)
        most = min(limits.relative_share * float(posterior.misfit_declared), limits.relative_misfit)
        tilts = float(posterior.tilt[k]) >= limits.relative_tilt
        return of_foot(hypothesis) and tilts and float(posterior.misfit[k]) <= most

    def _declare(self, time: float, hypothesis: Hypothesis, probability: float) -> tuple[Hypothesis, float]:
        self._declared_at = time
        return hypothesis, probability


def _left(hypothesis: Hypothesis) -> float:
    """The largest part of a tibia that is left by a hypothesis of lost feet."""
    return max((float(value) for value in hypothesis.values.values()), default=0.0)


def _weight(
    hypothesis: Hypothesis, posterior: Posterior, k: Any, limits: DetectorLimits, probed: bool = False
) -> float:
    """Return the weight of a bank for its hypothesis `k`: 1 if it fits, a half if it fits poorly, else 0.

    probed: its foot is pressed down, or was a moment ago; then a larger chi-square is allowed.
    """
    left, whole = float(posterior.misfit[k]), float(posterior.misfit_declared)
    foot = of_foot(hypothesis)
    most, share = (limits.misfit, limits.share_left) if foot else (limits.joint_misfit, limits.joint_share_left)
    tilts = foot and left < limits.misfit_tilted and posterior.tilt[k] >= limits.clear_tilt
    shows = tilts or (probed and left < limits.misfit_probed)
    little = min(limits.small_share * whole, limits.relative_misfit if foot else np.inf)
    if (shows or left < max(most, little)) and left <= share * whole:
        return 1.0
    return limits.poor_weight if foot and left < min(limits.poor_misfit, limits.poor_share * whole) else 0.0
