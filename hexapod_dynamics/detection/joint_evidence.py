"""Finds joints that do not follow: locked (constant reading under a changing command) or deviating (limp)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FEWEST, _MOST = 7, 9  # number of readings used
_STUCK, _FOLLOW, _TIMING = 2.2e-3, 0.02, 0.006  # [rad] of a stuck reading, of a joint that follows; [s]
_CERTAIN = 12.0  # log likelihood ratio
_SPREAD = 6.5e-3  # [rad] within which a stuck joint's readings lie
TICK = 0.02  # [s] of a place
_ASTRAY = 0.035  # [rad] root mean square of the last readings' residuals


@dataclass(frozen=True)
class JointCondition:
    """State of one joint: "follows", "locked" or "astray"; angle [rad] where it is; log likelihood of being locked.

    spread: of its readings since it was first found astray [rad], infinite where they are too few; count: of them.
    """

    state: str
    angle: float
    evidence: float
    spread: float
    count: int


def look(
    places: np.ndarray, angles: np.ndarray, residuals: np.ndarray, expected: float, since: float
) -> JointCondition:
    """Classify a joint by its last readings: ticks, angles, residuals [rad], oldest first; expected: its usual
    residual;
    since: fractional tick at which it was first found astray, infinite where it was not.

    Locked: the readings are within a count and a half of each other while the model says that they cannot be.
    """
    n = len(angles)
    if n < 3:
        return JointCondition("follows", np.nan, 0.0, np.inf, 0)
    modelled = angles - residuals + expected
    evidence = 0.0
    for count in range(min(n, _MOST), _FEWEST - 1, -1):
        a, m = angles[-count:], modelled[-count:]
        if np.ptp(a) > _SPREAD:
            continue
        ticks = np.maximum(np.diff(places[-count:]), 0.5)
        rate = np.abs(np.diff(m, prepend=m[0])) / (TICK * np.concatenate([ticks[:1], ticks]))
        spread = _FOLLOW**2 + (_TIMING * rate) ** 2
        ratio = 0.5 * float(np.sum((a - m) ** 2 / spread)) - 0.5 * float(np.sum((a - np.mean(a)) ** 2)) / _STUCK**2
        # The likelihood of a constant reading while the model moves does not depend on a constant offset of the model.
        shape = 0.5 * float(np.sum((m - m.mean()) ** 2 / spread))
        evidence = max(evidence, min(ratio, shape))
    astray = float(np.sqrt(np.mean((residuals[-3:] - expected) ** 2))) > _ASTRAY
    state = "locked" if evidence > _CERTAIN else "astray" if astray else "follows"
    after = angles[places >= since]
    spread = float(np.ptp(after)) if after.size >= 3 else np.inf
    return JointCondition(state, float(np.median(angles[-3:])), evidence, spread, int(after.size))
