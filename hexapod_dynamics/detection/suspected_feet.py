"""Stores of which feet consecutive banks were sure: a lost foot is missed at every step and at every place.

A foot over a hole or an edge has the same effect as a lost foot until it steps elsewhere; then another foot stands
there. So on uneven ground the banks are sure of one foot after another, each for some seconds; but they are sure
of a lost foot in every step after its loss.
"""

from __future__ import annotations

from collections import deque

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class SuspectedFeet:
    """The feet (groups of hypotheses) that each of the last banks was sure of."""

    def __init__(self, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        self._banks: deque[tuple[float, frozenset[str], bool]] = deque()

    def clear(self) -> None:
        """Discard all banks, because the robot has changed."""
        self._banks.clear()

    def note(self, time: float, feet: frozenset[str], held: bool = False) -> None:
        """Process the feet of which a bank at a time [s] is sure; held: whether an obstacle holds the robot back."""
        self._banks.append((time, feet, held))
        while time - self._banks[0][0] > self._limits.steps_for + self._limits.others_for:
            self._banks.popleft()

    def alternate(self, since: float, feet: set[str]) -> bool:
        """Whether banks were sure of other feet just before these are suspected, since a time [s]."""
        limits = self._limits
        begin, end = since - limits.others_for, since - limits.others_until
        others = sum(bool(sure) and not sure & feet for time, sure, _ in self._banks if begin <= time <= end)
        return others >= limits.others_banks

    def lasts(self, time: float, foot: str) -> bool:
        """Whether the banks up to a time [s] were sure of a foot in several steps, at several places."""
        limits = self._limits
        latest = [bank for bank in self._banks if bank[0] >= time - limits.steps_for]
        if any(held for _, _, held in latest):
            return False
        suspecting = [at for at, sure, _ in latest if foot in sure]
        count, first = len(suspecting), min(suspecting, default=time)
        return time - first >= limits.steps_least and count >= max(limits.steps_banks, limits.steps_share * len(latest))
