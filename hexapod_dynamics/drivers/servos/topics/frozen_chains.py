"""Finds the joints of lost legs and links whose last position is still reported.

A hardware component of ros2_control that is fed by topics keeps a joint's state when no message has it any more, and
the broadcaster gives it a fresh stamp. Then the joints of a leg, or of a link and what is beyond it, report the same
number, to the last bit, while they are commanded to move. One joint alone that does so may be locked, and is left to
the detector. After a restart nothing is known of the joints: one that is declared missing is not measured until its
report changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_LASTS = 0.3  # [s] without any change, at the least
_USUALLY, _SLOWEST = 2.0, 1.0  # times the longest of a joint's usual intervals of up to so much [s]
_EACH = 0.03  # [rad] over which each joint was commanded in that time
_ALL = 0.15  # [rad] sum of it over the joints of a chain


class FrozenChains:
    """Compares what n joints report with their commands; legs: the indices of each leg's joints, from the hip on."""

    def __init__(self, n: int, legs: Sequence[Sequence[int]]) -> None:
        self._legs = [list(leg) for leg in legs]
        self._shown, self._since = np.full(n, np.nan), np.full(n, np.inf)  # last report [rad], since when [s]
        self._low, self._high = np.full(n, np.nan), np.full(n, np.nan)  # of the commands since then [rad]
        self._usual = np.zeros(n)  # longest interval [s] between two changes of a joint that was commanded to move
        self._new, self._moves, self._missing = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)

    def set_missing(self, missing: np.ndarray) -> None:
        """Tell which joints (n,) bool are declared missing."""
        self._missing = np.array(missing, bool)

    def look(self, now: float, shown: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return which joints (n,) bool are not measured. shown: what they report, targets: their commands, NaN for
        none, each (n,) [rad]; now: monotonic [s].
        """
        new = np.not_equal(shown, self._shown, out=self._new)
        self._moves |= new & (self._shown == self._shown)  # not its first report, before which it is NaN
        np.copyto(self._shown, shown)
        lasted, moved = now - self._since, self._high - self._low
        np.maximum(self._usual, lasted, out=self._usual, where=new & (moved >= _EACH) & (lasted <= _SLOWEST))
        np.copyto(self._since, now, where=new)
        np.fmin(self._low, targets, out=self._low)
        np.fmax(self._high, targets, out=self._high)
        np.copyto(self._low, targets, where=new)
        np.copyto(self._high, targets, where=new)
        moved = self._high - self._low
        still = (now - self._since >= np.maximum(_LASTS, _USUALLY * self._usual)) & (moved >= _EACH)
        frozen: np.ndarray = self._missing & ~self._moves
        if not still.any():
            return frozen
        for leg in self._legs:
            for first in range(len(leg) - 1):
                chain = leg[first:]
                if still[chain].all() and moved[chain].sum() >= _ALL:
                    frozen[chain] = True
                    break
        return frozen
