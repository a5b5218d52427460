"""Estimates how uneven the ground is, from the difference between the lean of the body and that of its model, and
from obstacles.

A foot that stands 20 mm lower than the others unloads the same joints as a lost foot. On level ground a lost foot
leans the body by 2 to 12 degrees; if the ground has leant the body before, a lost foot must lean it further.
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
        self._obstacles: deque[float] = deque()  # beginnings [s] of parts in which an obstacle threw the body back

    def note(self, time: float, lean: float) -> None:
        """Process a lean [rad] at a time [s] later than the previous one."""
        limits, peaks = self._limits, self._peaks
        if not peaks or time - peaks[-1][0] >= limits.lean_part:
            peaks.append((time, lean))
            while time - peaks[0][0] > limits.lean_kept:
                peaks.popleft()
        elif lean > peaks[-1][1]:
            peaks[-1] = peaks[-1][0], lean

    def note_obstacle(self, time: float) -> None:
        """Note that an obstacle throws the body back at a time [s] later than the previous one."""
        limits, obstacles = self._limits, self._obstacles
        if not obstacles or time - obstacles[-1] >= limits.lean_part:
            obstacles.append(time)
            while time - obstacles[0] > limits.lean_kept:
                obstacles.popleft()

    def clear(self) -> None:
        """Discard all leans, because a robot that lies leans differently from the ground; obstacles are kept."""
        self._peaks.clear()

    def discard_since(self, time: float) -> None:
        """Discard leans and obstacles since a time [s] from which on the robot may have been damaged: its stump leans
        the body and throws it back like an obstacle. What came before is the ground's.
        """
        begin = time - self._limits.lean_onset
        self._peaks = deque(part for part in self._peaks if part[0] < begin)
        self._obstacles = deque(at for at in self._obstacles if at < begin)

    def is_held(self, time: float) -> bool:
        """Whether an obstacle holds the robot back at a time [s]."""
        return bool(self._obstacles) and time - self._obstacles[-1] < self._limits.held_for

    def _met_obstacle(self, before: float) -> bool:
        """Whether the robot met an obstacle in the time before a time [s]."""
        return any(before - self._limits.lean_kept < time < before for time in self._obstacles)

    def usual(self, before: float) -> float:
        """Return the largest lean [rad] before a time [s]: how uneven the ground was."""
        largest = max((lean for begin, lean in self._peaks if begin < before), default=0.0)
        return min(self._limits.lean_most, largest)

    def why_not(self, since: float, alternate: bool = False) -> str:
        """Return in words why the lean does not confirm a foot that is suspected since a time [s]; empty if it does.

        alternate: other feet were suspected just before (SuspectedFeet), so that the body must lean further, as
        after an obstacle.
        """
        limits = self._limits
        onset = since - limits.lean_onset
        alternate = alternate or self._met_obstacle(onset)
        least, times = limits.lean_least, limits.lean_times
        if alternate:
            least, times = limits.others_lean, limits.others_times
        needed = max(least, times * self.usual(onset))
        latest = max((lean for begin, lean in self._peaks if begin >= onset), default=0.0)
        if latest >= needed:
            return ""
        ground = "on blocks and steps, which were felt before" if alternate else "over a hole in the ground"
        return (
            f"the body leans by {math.degrees(latest):.1f} degrees, as {ground} "
            f"(lost: from {math.degrees(needed):.1f} on)"
        )

    def is_rough(self, time: float) -> bool:
        """Whether the ground was so uneven that a contact probe tells little."""
        onset = time - self._limits.lean_onset
        return self.usual(onset) > self._limits.lean_rough or self._met_obstacle(onset)
