"""Determines which joints that the detector declared locked or limp move with their commands again.

A locked joint stays at the angle at which it was declared; an intact one moves to its last set-point and stays
there. If that is the angle of the lock, the gait commands another angle for a moment (`trials`). A limp joint hangs
away from its command; an intact one moves to it. A joint is restored if it was away from the place of an intact
joint, and then is at this place for some time in several consecutive readings. Joints that were never away give no
information. A joint that is declared again after it was restored stays declared, because a loose plug is no
repair.
"""

from __future__ import annotations

import math

# [rad] from its lock, or from its command: an intact joint is away from the one and near the other.
AWAY, NEAR = 0.08, 0.035
STANDS_FOR, READINGS = 1.2, 5  # time [s] and readings for which a joint stands where an intact one would
STILL = 0.02  # [rad] range of the readings of a joint that stands


class _Watched:
    """A joint that was declared: locked_at [rad], None for a limp one; was_damaged: whether it was measured in its
    damaged state.
    """

    def __init__(self, locked_at: float | None) -> None:
        self.locked_at, self.was_damaged = locked_at, False
        self.restart()

    def restart(self) -> None:
        """Restart the count."""
        self.since, self.count, self.low, self.high = math.inf, 0, math.inf, -math.inf


class RecoveredJoints:
    """Tracks the joints that this detector declared; times are seconds on one clock."""

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        self._taken_back: set[int] = set()

    def watch(self, declared: dict[int, float | None]) -> None:
        """Track these joints from now on: {joint: angle of the lock [rad], None: limp}."""
        self._watched = {
            joint: self._watched[joint]
            if joint in self._watched and self._watched[joint].locked_at == angle
            else _Watched(angle)
            for joint, angle in declared.items()
            if joint not in self._taken_back
        }

    def note_restored(self, joint: int) -> None:
        """Note that a joint was restored; each joint is restored once."""
        self._taken_back.add(joint)
        self._watched.pop(joint, None)

    def forget(self) -> None:
        """Restart the count, because readings were late or the joints were not commanded."""
        for one in self._watched.values():
            one.restart()

    @property
    def locked(self) -> list[int]:
        """The joints that were declared locked."""
        return [joint for joint, one in self._watched.items() if one.locked_at is not None]

    def add_reading(self, time: float, joint: int, angle: float, command: float) -> None:
        """Use a reading [rad] of a joint; command [rad]: its last one, NaN: none."""
        one = self._watched.get(joint)
        if one is None:
            return
        if one.locked_at is not None:
            apart = abs(angle - one.locked_at)
            damaged, intact = apart < NEAR, apart > AWAY
        else:
            apart = abs(angle - command)
            damaged, intact = apart > AWAY, apart < NEAR
        one.was_damaged |= damaged
        if not (intact and one.was_damaged):
            one.restart()
            return
        one.low, one.high = min(one.low, angle), max(one.high, angle)
        if one.locked_at is not None and one.high - one.low > STILL:  # pushed, or still moving
            one.restart()
            one.low = one.high = angle
        one.since, one.count = min(one.since, time), one.count + 1

    def find_recovered(self, time: float) -> list[int]:
        """Return the joints that are intact again."""
        enough, lasts = READINGS, STANDS_FOR
        return [joint for joint, one in self._watched.items() if one.count >= enough and time - one.since >= lasts]
