"""Which leg or joint the banks agree on: evidence of banks in a row, summed for each leg and each joint.

A leg has lost its foot with the probability of all hypotheses in which it has, alone or with another leg, because the
stump's length and a second damage are less certain than the leg.
"""

from __future__ import annotations

import math
from typing import Any

from hexapod_dynamics.detection.hypotheses import Hypothesis, foot_group, groups_of, leg_of_group, of_foot
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.detection.one_or_two import PairEvidence, choose, doubted
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.suspected_feet import SuspectedFeet


class LastingEvidence:
    """Remembers of which legs and joints the last banks were sure.

    suspected: (group, probability) of the most probable leg or joint of the last bank, None where none is probable.
    undecided: group that the last two banks are sure of but roll and pitch do not confirm enough to declare it; why: in
    words.
    doubted: the leg that may have lost its foot together with the one that the last bank declared, None: no leg.
    """

    def __init__(self, settings: DetectorSettings) -> None:
        self._settings, self._limits = settings, settings.limits
        self._declared_at, self._second = -math.inf, ""  # the group that was doubted then
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
        self._since: dict[str, float] = {}  # group of hypotheses: time of the first bank in a row that suspects it
        self.undecided = self.why = ""
        self._pair.clear()
        self.doubted: str | None = None

    def pressed(self, time: float, group: str) -> None:
        """Note that the foot of a leg is pressed down from `time` [s] on: what the banks said before does not count."""
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
        self.undecided, self.why, limits = "", "", self._limits
        lasting_pair = self._pair.look(hypotheses, posterior)
        groups: dict[str, list[int]] = {}
        for k, hypothesis in enumerate(hypotheses):
            for group in groups_of(hypothesis):
                groups.setdefault(group, []).append(k)
        probability = {group: float(posterior.probability[members].sum()) for group, members in groups.items()}
        top = max(probability, key=lambda group: probability[group], default="")
        self._note_suspected(time, probability)
        self._feet.note(time, self._sure_feet(probability), leaning is not None and leaning.is_held(time))
        if not top or probability[top] < self._settings.suspect:
            self._end_row()
            return None
        self.suspected = top, probability[top]
        self._since = {g: self._since.get(g, time) for g, p in probability.items() if p >= self._settings.suspect}
        # A bank in between that suspects the leg, and is not sure of it, does not count, and ends nothing.
        row = {
            group: sums for group, sums in self._sure.items() if probability.get(group, 0.0) >= self._settings.suspect
        }
        sure, ready, joints = set(), [], []
        latest = posterior.slices - limits.half_cycle
        aftermath = time < self._declared_at + limits.aftermath
        probed = self._pressed[0] if time < self._pressed[1] + limits.after_probe else ""
        for group, members in groups.items():
            best = max(members, key=lambda k: posterior.probability[k])
            weight = _weight(hypotheses[best], posterior, best, limits, probed == group)
            second = aftermath and probed == group == self._second
            relative = 1.0 if self._fits_relatively(hypotheses[best], posterior, best, second) else 0.0
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
            obvious = float(posterior.log_odds[best]) >= limits.obvious
            both = before + tilt
            enough = odds >= limits.lasting_odds
            lasting = count >= limits.lasting_banks and enough and (both >= limits.lasting_tilt or probed == group)
            enough = enough and (not second or odds >= limits.second_odds)
            if not lasting and relatives >= limits.lasting_banks and enough:
                lasting = both >= limits.sure_tilt or probed == group
                if not lasting and both >= limits.probed_tilt:
                    self.undecided = group
                    self.why = f"roll and pitch say {both:.0f} of {limits.sure_tilt:.0f} nats"
            if (obvious if aftermath and probed != group else lasting) and posterior.onset[best] <= latest:
                judged = leaning if probed != group and not self._feet.lasts(time, group) else None
                why = "" if judged is None else self._why_uneven(time, group, judged, aftermath, posterior, best)
                if why:
                    self.undecided, self.why = group, why
                else:
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
            k: max(_weight(hypotheses[k], posterior, k, limits, probed == group), fits)
            for group in ready
            for k in groups[group]
            for fits in [float(self._fits_relatively(hypotheses[k], posterior, k))]
        }
        chosen = choose(hypotheses, posterior, good, sure, lasting_pair, limits, self._pair.clear_of_others)
        if chosen is not None and self._may_be_uneven(time, hypotheses[chosen], leaning, probed):
            # A second foot stands deeper for some steps; the one that is lost lasts.
            alone = [k for k in alone if self._feet.lasts(time, groups_of(hypotheses[k])[0])]
            chosen = max(alone, key=lambda k: posterior.log_odds[k], default=None)
        if chosen is None:
            return None
        self.doubted = None if aftermath else doubted(hypotheses, posterior, hypotheses[chosen], limits)
        self._second = "" if self.doubted is None else foot_group(self.doubted)
        return self._declare(time, hypotheses[chosen], probability[ready[0]])

    def _note_suspected(self, time: float, probability: dict[str, float]) -> None:
        """Note which groups a bank suspects; one that is not suspected for a moment was suspected before it, too."""
        for group, p in probability.items():
            if p >= self._settings.suspect:
                first, last = self._first_suspected.get(group, (time, time))
                self._first_suspected[group] = time if time - last > self._limits.suspected_gap else first, time

    def _sure_feet(self, probability: dict[str, float]) -> frozenset[str]:
        sure = (group for group, p in probability.items() if p >= self._settings.declare)
        return frozenset(group for group in sure if leg_of_group(group) is not None)

    def _why_uneven(
        self, time: float, group: str, leaning: Leaning, aftermath: bool, posterior: Posterior, best: int
    ) -> str:
        """Return in words why uneven ground explains a foot, whose hypothesis is `best`; empty if it does not."""
        share = 1.0 if posterior.leant is None else float(posterior.leant[best])
        if share < self._limits.lean_predicted:
            return f"the body leans by {share:.0%} of what this loss predicts"
        since = self._since.get(group, time)
        alternate = self._feet.alternate(since, {group})
        return "" if aftermath and not alternate else leaning.why_not(since, alternate)

    def _may_be_uneven(self, time: float, found: Hypothesis, leaning: Leaning | None, probed: str) -> bool:
        """Whether uneven ground explains a pair of feet, or a stump of nearly the tibia's length, as well: both are
        told from it only by several steps at several places.
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
        """Whether a foot leaves clearly less than the declared robot, and tilts the body as it is tilted.

        A healthy robot whose servos are not those of the model leaves more than any absolute limit. second: the foot is
        pressed down because it may have been lost together with the one that was declared last; it need not tilt.
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
    """How much a bank counts for its hypothesis `k`: 1 if it fits, a half if it fits poorly, 0 if it does not.

    probed: its foot is pressed down, or was a moment ago, so that more may be left.
    """
    left, whole = float(posterior.misfit[k]), float(posterior.misfit_declared)
    foot = of_foot(hypothesis)
    most, share = (limits.misfit, limits.share_left) if foot else (limits.joint_misfit, limits.joint_share_left)
    tilts = foot and left < limits.misfit_tilted and posterior.tilt[k] >= limits.clear_tilt
    shows = tilts or (probed and left < limits.misfit_probed)
    if (shows or left < max(most, limits.small_share * whole)) and left <= share * whole:
        return 1.0
    return limits.poor_weight if foot and left < min(limits.poor_misfit, limits.poor_share * whole) else 0.0
