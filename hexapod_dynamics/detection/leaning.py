"""How far the body leans otherwise than its model: a lost foot leans it further than the ground did before.

A foot that stands 20 mm lower than the others leaves the same joints unloaded as one that is lost. On level ground a
lost foot leans the body by 2 to 12 degrees; where the ground has leant it before, a lost foot has to lean it further.
"""

from __future__ import annotations

import math
from collections import deque

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class Leaning:
    """The largest leans [rad] of the last moments, and of the time before."""

    def __init__(self, limits: DetectorLimits = LIMITS) -> None:
        self._limits = limits
        self._peaks: deque[tuple[float, float]] = deque()  # beginning [s] of a part, largest lean in it

    def note(self, time: float, lean: float) -> None:
        """Take a lean [rad] at a time [s] that grows."""
        limits, peaks = self._limits, self._peaks
        if not peaks or time - peaks[-1][0] >= limits.lean_part:
            peaks.append((time, lean))
            while time - peaks[0][0] > limits.lean_kept:
                peaks.popleft()
        elif lean > peaks[-1][1]:
            peaks[-1] = peaks[-1][0], lean

    def clear(self) -> None:
        """Forget all leans: the robot has changed."""
        self._peaks.clear()

    def usual(self, before: float) -> float:
        """Return the largest lean [rad] before a time [s]: how uneven the ground was."""
        largest = max((lean for begin, lean in self._peaks if begin < before), default=0.0)
        return min(self._limits.lean_most, largest)

    def why_not(self, since: float) -> str:
        """Return in words why the lean does not confirm a foot that is suspected since a time [s]; empty if it does."""
        limits = self._limits
        onset = since - limits.lean_onset
        needed = max(limits.lean_least, limits.lean_times * self.usual(onset))
        latest = max((lean for begin, lean in self._peaks if begin >= onset), default=0.0)
        if latest >= needed:
            return ""
        return (
            f"the body leans by {math.degrees(latest):.1f} degrees, as over a hole in the ground "
            f"(lost: from {math.degrees(needed):.1f} on)"
        )

    def is_rough(self, time: float) -> bool:
        """Whether the ground was so uneven that a contact probe says little."""
        return self.usual(time - self._limits.lean_onset) > self._limits.lean_rough
