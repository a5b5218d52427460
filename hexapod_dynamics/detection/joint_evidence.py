"""Finds joints that do not follow: locked (constant reading under a changing command) or deviating (limp).

A joint is locked if its readings stay within a count and a half of each other for longer than a stance phase, while the
modelled joint moves away from them for longer than any lag explains: of each reading only the distance counts from the
angles that the model has within LAG before and after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FEWEST = 7  # readings that a lock needs
_SHORTEST = 1.0  # [s] that they last at least: a healthy femur stands still for 0.8 s in a slow stance
_STUCK, _FOLLOW, _TIMING = 2.2e-3, 0.02, 0.006  # [rad] of a stuck reading, of a joint that follows; [s]
_CERTAIN = 12.0  # log likelihood ratio
_SPREAD = 6.5e-3  # [rad] within which a stuck joint's readings lie
TICK = 0.02  # [s] of a place
# [s] by which a reading may be older or younger than its time: what a computer that stands still for a moment does and
# `Lateness` cannot see.
LAG = 0.1
# A joint that was not read for so long [s] may have been met again by its driver, which then approaches its command
# slowly, for this long [s].
_UNREAD, _APPROACH = 0.5, 1.0
_ASTRAY = 0.035  # [rad] root mean square of the last readings' residuals


@dataclass(frozen=True)
class JointCondition:
    """State of one joint: "follows", "locked" or "astray"; angle [rad] where it is; log likelihood of being locked.

    spread: of its readings since it was first found astray [rad], infinite where they are too few; count: of them;
    lasts [s]: from the first to the last of them.
    """

    state: str
    angle: float
    evidence: float
    spread: float
    count: int
    lasts: float = np.inf


def look(
    places: np.ndarray,
    angles: np.ndarray,
    residuals: np.ndarray,
    reach: tuple[np.ndarray, np.ndarray],
    expected: float,
    since: float,
    valid: float = -np.inf,
) -> JointCondition:
    """Classify a joint by its last readings: ticks, angles, residuals [rad], oldest first.

    reach: least and largest modelled angle [rad] within LAG of each reading; expected [rad]: its usual residual;
    since: fractional tick at which it was first found astray, infinite where it was not; valid: tick from which on the
    model has the set-points that the servos have.
    """
    n = len(angles)
    if n < 3:
        return JointCondition("follows", np.nan, 0.0, np.inf, 0)
    evidence = _evidence_of_lock(places, angles, angles - residuals + expected, reach, expected, valid)
    astray = float(np.sqrt(np.mean((residuals[-3:] - expected) ** 2))) > _ASTRAY
    state = "locked" if evidence > _CERTAIN else "astray" if astray else "follows"
    chosen = places >= since
    after = angles[chosen]
    spread = float(np.ptp(after)) if after.size >= 3 else np.inf
    lasts = float(np.ptp(places[chosen])) * TICK if after.size else 0.0
    return JointCondition(state, float(np.median(angles[-3:])), evidence, spread, int(after.size), lasts)


def _evidence_of_lock(
    places: np.ndarray,
    angles: np.ndarray,
    modelled: np.ndarray,
    reach: tuple[np.ndarray, np.ndarray],
    expected: float,
    valid: float,
) -> float:
    """Return the log likelihood ratio of a constant angle against a joint that follows its model with any lag up to
    LAG, the largest of all windows that are long enough.
    """
    unread = np.flatnonzero(np.diff(places) * TICK > _UNREAD)
    if unread.size:
        valid = max(valid, places[unread[-1] + 1] + _APPROACH / TICK)
    first = int(np.searchsorted(places, valid))
    lower, upper = np.minimum(reach[0] + expected, modelled), np.maximum(reach[1] + expected, modelled)
    evidence = 0.0
    for begin in range(first, len(angles) - _FEWEST + 1):
        if (places[-1] - places[begin]) * TICK < _SHORTEST:
            break
        a, m, low, high = angles[begin:], modelled[begin:], lower[begin:], upper[begin:]
        if np.ptp(a) > _SPREAD:
            continue
        ticks = np.maximum(np.diff(places[begin:]), 0.5)
        rate = np.abs(np.diff(m, prepend=m[0])) / (TICK * np.concatenate([ticks[:1], ticks]))
        spread = _FOLLOW**2 + (_TIMING * rate) ** 2
        apart = a - np.clip(a, low, high)
        ratio = 0.5 * float(np.sum(apart**2 / spread)) - 0.5 * float(np.sum((a - np.mean(a)) ** 2)) / _STUCK**2
        # The likelihood of a constant reading while the model moves does not depend on a constant offset of the model.
        evidence = max(evidence, min(ratio, _evidence_of_motion(low, high, spread)))
    return evidence


def _evidence_of_motion(low: np.ndarray, high: np.ndarray, spread: np.ndarray) -> float:
    """Return the log likelihood against a model that stands still, of angles between low and high (n,) [rad]: its
    distance from the constant angle that fits best.
    """
    constant = float(np.mean(0.5 * (low + high)))
    for _ in range(8):  # alternating projections
        constant = float(np.average(np.clip(constant, low, high), weights=1.0 / spread))
    return 0.5 * float(np.sum((constant - np.clip(constant, low, high)) ** 2 / spread))
