"""Finds the joints of lost legs and links whose last position is still reported.

A topic-based hardware component of ros2_control keeps a joint's last state when no message contains the joint any
more, and the broadcaster publishes it with a fresh stamp. Then the joints of a leg, or of a link and all links
beyond it, report an unchanged number, to the last bit, while they are commanded to move. A single joint that does
so may be locked; this is decided by the damage detector. After a restart nothing is known about the joints: a
joint that is declared missing counts as not measured until its report changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_LASTS = 0.3  # [s] least time without any change
# the time is at least this multiple of the joint's longest usual interval, which counts up to so much [s]
_USUALLY, _SLOWEST = 2.0, 1.0
_EACH = 0.03  # [rad] over which each joint was commanded in that time
_ALL = 0.15  # [rad] sum of these changes over the joints of a chain


class FrozenChains:
    """Compares what n joints report with their commands; legs: the indices of each leg's joints, from the hip on."""

    def __init__(self, n: int, legs: Sequence[Sequence[int]]) -> None:
        self._legs = [list(leg) for leg in legs]
        self._shown, self._since = np.full(n, np.nan), np.full(n, np.inf)  # last report [rad], since when [s]
        self._low, self._high = np.full(n, np.nan), np.full(n, np.nan)  # of the commands since then [rad]
        self._usual = np.zeros(n)  # longest interval [s] between two changes of a joint that was commanded to move
        self._new, self._moves, self._missing = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)

    def set_missing(self, missing: np.ndarray) -> None:
        """Set which joints (n,) bool are declared missing."""
        self._missing = np.array(missing, bool)

    def look(self, now: float, shown: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return which joints (n,) bool are not measured. shown: what they report, targets: their commands, NaN for
        none, each (n,) [rad]; now: monotonic [s].
        """
        new = np.not_equal(shown, self._shown, out=self._new)
        self._moves |= new & (self._shown == self._shown)  # a first report, before which the value is NaN, is no motion
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
