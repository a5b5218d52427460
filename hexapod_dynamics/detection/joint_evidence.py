"""Finds joints that do not follow: locked (constant reading under a changing command) or deviating (limp).

A joint is locked if its readings stay within a count and a half of each other for longer than a stance phase, while the
modelled joint moves away from them for longer than any lag explains: for each reading, only its distance from the
model's angles within `lock_lag` before and after it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits

TICK = 0.02  # [s] duration of a tick


@dataclass(frozen=True)
class JointCondition:
    """State of one joint: "follows", "locked" or "astray"; its angle [rad]; log likelihood of being locked.

    spread: of its readings since it was first found astray [rad], infinite if there are too few; count: their
    number; lasts [s]: time from the first to the last of them; apart [rad]: root mean square of their distance from
    the model, beyond the usual one.
    """

    state: str
    angle: float
    evidence: float
    spread: float
    count: int
    lasts: float = np.inf
    apart: float = np.inf


def look(
    places: np.ndarray,
    angles: np.ndarray,
    residuals: np.ndarray,
    reach: tuple[np.ndarray, np.ndarray],
    expected: float,
    since: float,
    valid: float = -np.inf,
    limits: DetectorLimits = LIMITS,
) -> JointCondition:
    """Classify a joint by its last readings: ticks, angles, residuals [rad], oldest first.

    reach: least and largest modelled angle [rad] within `lock_lag` of each reading; expected [rad]: its usual residual;
    since: fractional tick at which it was first found astray, infinite if it was not; valid: tick from which on
    the model has the same set-points as the servos.
    """
    n = len(angles)
    if n < 3:
        return JointCondition("follows", np.nan, 0.0, np.inf, 0)
    evidence = _evidence_of_lock(places, angles, angles - residuals + expected, reach, expected, valid, limits)
    astray = float(np.sqrt(np.mean((residuals[-3:] - expected) ** 2))) > limits.astray
    state = "locked" if evidence > limits.lock_evidence else "astray" if astray else "follows"
    chosen = places >= since
    after = angles[chosen]
    spread = float(np.ptp(after)) if after.size >= 3 else np.inf
    lasts = float(np.ptp(places[chosen])) * TICK if after.size else 0.0
    apart = float(np.sqrt(np.mean((residuals[chosen] - expected) ** 2))) if after.size else np.inf
    return JointCondition(state, float(np.median(angles[-3:])), evidence, spread, int(after.size), lasts, apart)


def _evidence_of_lock(
    places: np.ndarray,
    angles: np.ndarray,
    modelled: np.ndarray,
    reach: tuple[np.ndarray, np.ndarray],
    expected: float,
    valid: float,
    limits: DetectorLimits,
) -> float:
    """Return the log likelihood ratio of a constant angle against a joint that follows its model with any lag up to
    `lock_lag`, the largest of all windows that are long enough.
    """
    unread = np.flatnonzero(np.diff(places) * TICK > limits.lock_unread)
    if unread.size:
        valid = max(valid, places[unread[-1] + 1] + limits.lock_approach / TICK)
    first = int(np.searchsorted(places, valid))
    lower, upper = np.minimum(reach[0] + expected, modelled), np.maximum(reach[1] + expected, modelled)
    evidence = 0.0
    for begin in range(first, len(angles) - limits.lock_readings + 1):
        if (places[-1] - places[begin]) * TICK < limits.lock_time:
            break
        a, m, low, high = angles[begin:], modelled[begin:], lower[begin:], upper[begin:]
        if np.ptp(a) > limits.lock_range:
            continue
        ticks = np.maximum(np.diff(places[begin:]), 0.5)
        rate = np.abs(np.diff(m, prepend=m[0])) / (TICK * np.concatenate([ticks[:1], ticks]))
        spread = limits.follow_spread**2 + (limits.follow_timing * rate) ** 2
        apart = a - np.clip(a, low, high)
        ratio = (
            0.5 * float(np.sum(apart**2 / spread)) - 0.5 * float(np.sum((a - np.mean(a)) ** 2)) / limits.stuck_spread**2
        )
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
