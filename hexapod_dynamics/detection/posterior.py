"""Decides by the network's probabilities what is declared: log odds against an intact leg, and two short waits.

What decides is the mean of the log odds over half a second, each limited to LOWEST and HIGHEST, so that a moment is no
evidence and a weak one that lasts is. A robot that stands, braces or lies shows nothing new: then nothing is decided.
The decision waits for a moment, and longer while another leg is in doubt, so that both of a pair are declared at once;
and a damaged joint waits until its readings show whether it is limp or locked.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.detection.features import STEP
from hexapod_dynamics.detection.network import CLASSES, INTACT, LIMP, LOCKED, LOST

LEAST = 1e-7  # probability: log odds are within 16 of 0
MEAN, LOWEST, HIGHEST = 6, -3.0, 6.0  # steps of the mean, and bounds of the log odds in it
ALSO = 2.0  # log odds from which a foot is lost together with another; it is in doubt from -1
# [s] for which a decision waits, since the other feet may only be in the air; longer while another leg is in doubt.
WAIT, PAIR_WAIT = 0.16, 1.0
KIND_WAIT = 0.8  # [s] for which a damaged joint waits for readings that show its kind; then the network decides
MOVED = 3, 5  # steps with motion, of the latest ones, from which a robot walks


class Judgement(NamedTuple):
    """A leg (index) and the class of the network that it is decided to have; odds: log odds; since: time [s]."""

    leg: int
    kind: int
    odds: float
    since: float

    @property
    def probability(self) -> float:
        """Probability that the leg is not intact."""
        return 1.0 / (1.0 + math.exp(-self.odds))


class Posterior:
    """Log odds of all legs over time.

    odds (legs, 2): that the foot is lost, that a joint is damaged, against an intact leg: means of half a second;
    latest (legs, 2): of the last step. -inf: not judged.

    Args:
        legs: their number.
        thresholds: (2,) log odds above which each is declared.
        suspect: log odds above which a leg is suspected.

    """

    def __init__(self, legs: int, thresholds: np.ndarray, suspect: float) -> None:
        self._thresholds, self._suspect = thresholds, suspect
        self.odds = np.full((legs, 2), -math.inf)
        self.latest = self.odds.copy()
        self._steps = np.full((MEAN, legs, 2), LOWEST)
        self._kinds = np.zeros((legs, CLASSES))  # log probabilities: sums while a joint is over its threshold
        self._over = np.full(legs, math.inf)  # [s] since when
        self._suspected = np.full((legs, 2), math.inf)  # first and last time [s]
        self._moved: deque[bool] = deque(maxlen=MOVED[1])

    def forget(self) -> None:
        """Forget what was before: the model has started again."""
        self.odds[:] = self.latest[:] = -math.inf
        self._steps[:] = LOWEST
        self.hold()
        self._suspected[:] = math.inf
        self._moved.clear()

    def hold(self) -> None:
        """Decide nothing now, and begin to wait again."""
        self._over[:] = math.inf

    def update(
        self, time: float, probabilities: np.ndarray, moving: bool, intact: np.ndarray, answers: np.ndarray
    ) -> None:
        """Add a step of the network (legs, CLASSES).

        moving: whether set-points move; intact (legs,): declared so; answers (legs,): whether all servos of a leg
        answer: else it is not judged now.
        """
        p = np.maximum(probabilities, LEAST)
        odds = np.log(np.stack([p[:, LOST], p[:, LIMP:].sum(axis=1)], axis=1) / p[:, INTACT, None])
        self._steps[:-1] = self._steps[1:]
        self._steps[-1] = np.clip(odds, LOWEST, HIGHEST)
        self._steps[:, ~intact] = LOWEST
        self.odds, self.latest = self._steps.mean(axis=0), odds
        self.odds[~(intact & answers)] = self.latest[~(intact & answers)] = -math.inf
        self._moved.append(moving)
        over = np.any(self.odds > self._thresholds, axis=1)
        self._kinds = np.where((over & np.isfinite(self._over))[:, None], self._kinds, 0.0) + np.log(p)
        self._over = np.where(over, np.minimum(self._over, time), math.inf)
        suspected = self.odds.max(axis=1) > self._suspect
        ended = ~suspected & (time - self._suspected[:, 1] > 0.4)  # [s]: five steps
        self._suspected[ended] = math.inf
        self._suspected[suspected, 0] = np.minimum(self._suspected[suspected, 0], time)
        self._suspected[suspected, 1] = time

    @property
    def is_walking(self) -> bool:
        """Whether the set-points have moved lately."""
        return sum(self._moved) >= MOVED[0]

    def decide(self, time: float, stands: Callable[[int, int, float], bool | None]) -> list[Judgement]:
        """Return what is to be declared now.

        stands(leg, joint's place, since): whether the readings of a joint stand still since then [s], while it should
        move; None: not known.
        """
        over = np.isfinite(self._over)
        if not over.any() or not self.is_walking:
            return []
        waited = time - float(self._over.min()) + 0.5 * STEP
        foot = self.odds[:, 0]
        in_doubt = ~over & (np.maximum(foot, self.latest[:, 0]) > -1.0) & (foot < ALSO)
        if waited < (PAIR_WAIT if in_doubt.any() else WAIT):
            return []
        found, beyond = [], self.odds - self._thresholds
        for leg in np.flatnonzero(over | (foot > ALSO)).tolist():
            since = min(float(self._over[leg]), time)
            if beyond[leg, 0] >= beyond[leg, 1]:
                found.append(Judgement(leg, LOST, self._surest(leg, 0), since))
            elif over[leg]:
                sums = np.logaddexp(self._kinds[leg, LIMP:LOCKED], self._kinds[leg, LOCKED:])
                place = int(sums.argmax())
                still = stands(leg, place, since)
                if still is None:
                    if time - since + 0.5 * STEP < KIND_WAIT:
                        return []
                    still = bool(self._kinds[leg, LOCKED + place] > self._kinds[leg, LIMP + place])
                found.append(Judgement(leg, (LOCKED if still else LIMP) + place, self._surest(leg, 1), since))
        return found

    def _surest(self, leg: int, column: int) -> float:
        """Return the log odds of now, or of the half second if they are larger."""
        return float(max(self.odds[leg, column], self.latest[leg, column]))

    def list_suspected(self) -> list[Judgement]:
        """Return the legs that are suspected now, the most likely first."""
        found = []
        for leg in np.flatnonzero(np.isfinite(self._suspected[:, 0])).tolist():
            foot = self.odds[leg, 0] >= self.odds[leg, 1]
            kind = LOST if foot else LIMP + int(self._kinds[leg, LIMP:].argmax())
            found.append(Judgement(leg, kind, float(self.odds[leg].max()), float(self._suspected[leg, 0])))
        return sorted(found, key=lambda one: -one.odds)
