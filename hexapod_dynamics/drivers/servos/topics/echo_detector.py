"""Finds joints whose reported positions are the commands themselves.

Many drivers publish commanded positions as `joint_states` (the JetHexa's own does, and mock components of
ros2_control). A measured position of a moving joint hardly ever equals one of the latest commands to the
last digit; an echo always does.
"""

from __future__ import annotations

import numpy as np

_RECENT = 60  # number of commands with which a report is compared
_EQUAL = 1e-6  # [rad] large enough for drivers with single precision
_MOVED = 2e-4  # [rad] a report counts only if its joint was commanded to move by this much since its last report
_CERTAIN = 25  # consecutive reports that equal a command


class EchoDetector:
    """Compares the reports of n joints with their commands. Commands and reports may come from two threads."""

    def __init__(self, n: int) -> None:
        self._recent = np.full((_RECENT, n), np.nan)  # a ring, which is written while it is read
        self._count = 0
        self._last = np.full(n, np.nan)
        self._equal = np.zeros(n, np.int64)

    @property
    def echoes(self) -> np.ndarray:
        """Joints (n,) bool that report their commands."""
        return self._equal >= _CERTAIN

    def command(self, angles: np.ndarray) -> None:
        """Take the commands (n,) [rad], NaN for a joint that has none."""
        self._recent[self._count % _RECENT] = angles
        self._count += 1

    def report(self, index: int, angle: float) -> None:
        """Take the reported angle [rad] of one joint."""
        if self._count < 2 or abs(angle - self._last[index]) <= _MOVED:
            return
        self._last[index] = angle
        if (np.abs(self._recent[:, index] - angle) <= _EQUAL).any():
            self._equal[index] += 1
        else:
            self._equal[index] = 0
