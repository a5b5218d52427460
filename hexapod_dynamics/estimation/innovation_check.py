"""Tests whether the measurements fit the model: each joint, roll, pitch and yaw.

A quantity is inconsistent when its innovation (measured minus predicted) exceeds its limit without interruption for
`patience` seconds. The limits are those of healthy robots over the plausible mismatches of the model, with a
margin. A joint that should be measured but is not, is inconsistent, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

AXES = ("roll", "pitch", "yaw")
# Largest innovations of an intact robot. A joint at rest [rad]; TIMING [s] times the joint's rate is added to it. Tilt,
# yaw [rad]; learnt offset of a set-point [rad].
JOINT, TIMING, TILT, YAW, OFFSET = 0.06, 0.03, 0.06, 0.08, 0.25
UNREAD = 1.0  # [s] longest time without a reading of a joint while others are read
# Time [s] for which an innovation must exceed its limit; after which an inconsistency is an error; for which everything
# must fit until the inconsistency ends.
PATIENCE, WORSE, CALM = 0.3, 1.5, 2.0


class InnovationTest:
    """Finds joints and axes whose measurements contradict the model; names (n,): of the joints."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [*names, *AXES]
        self.clear()

    def clear(self) -> None:
        """Reset all inconsistencies."""
        n = len(self.names)
        self._since = [math.inf] * n  # [s] time at which the quantity exceeded its limit
        self._excess = [0.0] * n
        self._began: float | None = None
        self._last_inconsistent: float | None = None
        self.suspected: list[str] = []

    def joint(self, time: float, joint: int, error: float, rate: float, offset: float) -> None:
        """Test a reading of a joint: measured minus predicted [rad], predicted rate [rad/s], learnt offset [rad]."""
        excess = abs(error) / (JOINT + TIMING * abs(rate))
        self._assess(time, joint, max(excess, abs(offset) / OFFSET))

    def silent(self, time: float, joint: int, silence: float) -> None:
        """Note that a joint was not read for `silence` [s], longer than the limit."""
        self._since[joint] = min(self._since[joint], time - PATIENCE)
        self._excess[joint] = max(silence / UNREAD, 1.0)

    def reset_joint(self, joint: int) -> None:
        """Reset a joint that was read while it executes no command, because it cannot contradict the model then."""
        self._since[joint], self._excess[joint] = math.inf, 0.0

    def attitude(self, time: float, innovation: Sequence[float], yaw: float) -> None:
        """Test the attitude: the measured less the predicted one as a rotation vector (3,) in world axes [rad],
        and the predicted yaw [rad].
        """
        cos, sin = math.cos(yaw), math.sin(yaw)
        x, y, z = innovation
        roll, pitch = cos * x + sin * y, -sin * x + cos * y
        first = len(self.names) - len(AXES)
        for k, excess in enumerate((roll / TILT, pitch / TILT, z / YAW)):
            self._assess(time, first + k, abs(excess))

    def _assess(self, time: float, k: int, excess: float) -> None:
        """Process a deviation of a quantity as a multiple of its limit."""
        self._excess[k] = excess
        self._since[k] = min(self._since[k], time) if excess > 1.0 else math.inf

    def level(self, time: float) -> tuple[str, str]:
        """Return the present level ("ok", "warn" or "error") and the inconsistent joints and axes."""
        if time - min(self._since) >= PATIENCE:
            suspected = [k for k, since in enumerate(self._since) if time - since >= PATIENCE]
            self.suspected = [self.names[k] for k in sorted(suspected, key=lambda k: -self._excess[k])]
            self._last_inconsistent = time
            if self._began is None:
                self._began = time
        elif self._last_inconsistent is None or time - self._last_inconsistent > CALM:
            self._began = self._last_inconsistent = None
            self.suspected = []
        if self._began is None:
            return "ok", ""
        worst = ", ".join(self.suspected[:3])
        text = f"the measurements contradict the model at {worst}: the prediction is unreliable"
        return ("error" if time - self._began > WORSE else "warn"), text
