"""Small sway of the body over its feet while a load is weighed.

A walk on level ground repeats every joint angle in each cycle, and a servo measures it in counts: the rounding error of
a reading is the same in each cycle, so that a mean over many cycles does not reduce it. A sway of some counts, with
periods that do not agree with that of the steps, changes the rounding errors from cycle to cycle.
"""

from __future__ import annotations

import math

import numpy as np

PERIODS = 3.54, 2.24, 2.7  # [s] of the sway along x, y, z of base_link
SHARES = 0.7, 0.7, 1.0  # of the size, along x, y, z
REACH = 2.0  # room [m] for a shift of the body that a sway of 1 m takes: upward it stretches the legs, too


class WeighingSway:
    """offset (3,) [m]: present sway of the body along x, y, z of base_link; size [m]: of the present sway."""

    def __init__(self) -> None:
        self.offset, self.size, self._time = np.zeros(3), 0.0, 0.0

    def advance(self, dt: float, size: float, room: float) -> None:
        """Advance by dt [s]; size [m]: amplitude that is wanted, 0: none; room [m]: for a shift of the body within
        the reach of the legs, which limits the amplitude.
        """
        self._time += dt
        self.size = max(0.0, min(size, room / REACH))
        turns = [2.0 * math.pi * self._time / period for period in PERIODS]
        self.offset[:] = [self.size * share * math.sin(turn) for share, turn in zip(SHARES, turns, strict=True)]

    @property
    def active(self) -> bool:
        """Whether the body is off its place."""
        return self.size > 0.0
