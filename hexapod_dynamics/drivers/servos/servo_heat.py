"""Predicts which servo will get too hot, from the temperatures that it reports seldom and in whole degrees.

A servo under a steady load warms up towards a final temperature E: T(t) = E - A exp(-t / tau). From three means,
each over SPAN, the ratio r of the last rise to the previous one yields E (Prony's method), E = T3 + (T3 - T2) r /
(1 - r), and tau = -SPAN / ln r. No motor constants are needed; a change of the load appears in the next means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# [deg C] temperature that is too hot; temperature above which a servo may be reported, because the first rises predict
# little; [s] prediction horizon.
HOT, WARM, SOON = 60.0, 45.0, 600.0
SPAN = 60.0  # [s] of a mean: counts of a degree average out
LEAST_RISE = 0.5  # [deg C] in SPAN: a smaller rise is quantisation noise
STEADY = 0.97  # ratio of rises above which the warming is treated as linear


class ServoHeat:
    """Watches the temperatures of joints `names`; times are monotonic seconds."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        n = len(self._names)
        self._sums, self._counts, self._begin = np.zeros(n), np.zeros(n), math.nan
        self._means = np.full((3, n), np.nan)  # the oldest first
        self._now = np.full(n, np.nan)

    def update(self, t: float, temperatures: npt.ArrayLike) -> None:
        """Take temperatures (n,) [deg C], NaN: not known; after a pause in the calls the means start anew."""
        now = np.asarray(temperatures, float)
        if math.isnan(self._begin) or t - self._begin > 2.0 * SPAN:
            self._means[:] = np.nan
            self._restart(t)
        elif t - self._begin >= SPAN:
            mean = np.divide(self._sums, self._counts, out=np.full(len(now), np.nan), where=self._counts > 0)
            self._means[:-1] = self._means[1:]
            self._means[-1] = mean
            self._restart(t)
        known = np.isfinite(now)
        self._sums[known] += now[known]
        self._counts += known
        self._now[:] = now

    def _restart(self, t: float) -> None:
        self._sums[:] = self._counts[:] = 0.0
        self._begin = t

    def time_to_hot(self, joint: int) -> float:
        """Return the time [s] after which a joint is HOT under its present load; infinite if it will never be."""
        first, before, last = self._means[:, joint].tolist()
        if self._now[joint] >= HOT:
            return 0.0
        rise = last - before
        if not math.isfinite(rise + first) or rise < LEAST_RISE or last < WARM:
            return math.inf
        missing = HOT - last
        ratio = rise / (before - first) if before - first > LEAST_RISE else 1.0
        if ratio >= STEADY:
            return max(missing / rise * SPAN - 0.5 * SPAN, 0.0)
        left = rise * ratio / (1.0 - ratio)  # [deg C] by which it will warm up from the last mean
        if left <= missing:
            return math.inf
        return max(-SPAN / math.log(ratio) * math.log(left / (left - missing)) - 0.5 * SPAN, 0.0)

    def assess(self) -> tuple[str, list[str]]:
        """Return ('ok' or 'warn', what is wrong)."""
        wrong = []
        for joint, name in enumerate(self._names):
            time = self.time_to_hot(joint)
            if time == 0.0:
                wrong.append(f"{name} has {self._now[joint]:.0f} deg C: let it rest")
            elif time < SOON:
                wrong.append(
                    f"{name} has {self._now[joint]:.0f} deg C and reaches {HOT:.0f} in {max(time / 60.0, 1.0):.0f} min "
                    "if it goes on like this: walk slower, or let it rest"
                )
        return ("warn" if wrong else "ok"), wrong
