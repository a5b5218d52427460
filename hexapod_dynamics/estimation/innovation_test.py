"""Tests whether the measurements fit the model: each joint, roll, pitch and yaw.

A quantity is in doubt when its innovation (measured minus predicted) exceeds its limit without interruption for
`patience` seconds. The limits are those of healthy robots over the plausible mismatches of the model, with a margin. A
joint that should be measured and is not is in doubt, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

AXES = ("roll", "pitch", "yaw")


@dataclass(frozen=True)
class Limits:
    """Largest innovations of a healthy robot.

    joint [rad]: of a joint at rest. timing [s]: what a joint's rate adds. tilt, yaw [rad]. offset [rad]: of a
    set-point's learnt offset. silence [s]: longest time without a reading of a joint while others are read. patience
    [s]: how long an innovation must stay beyond; worse [s]: after how long the doubt is an error; calm [s]: how long
    everything must fit before the doubt ends.
    """

    joint: float = 0.06
    timing: float = 0.03
    tilt: float = 0.06
    yaw: float = 0.08
    offset: float = 0.25
    silence: float = 1.0
    patience: float = 0.3
    worse: float = 1.5
    calm: float = 2.0


class InnovationTest:
    """Finds joints and axes whose measurements contradict the model; names (n,): of the joints."""

    def __init__(self, names: Sequence[str], limits: Any = None) -> None:
        self.names = [*names, *AXES]
        self.limits = limits or Limits()
        self.clear()

    def clear(self) -> None:
        """End all doubts."""
        n = len(self.names)
        self._since = np.full(n, np.inf)  # [s] when the quantity left its limit
        self._excess = np.zeros(n)
        self._doubt_began: float | None = None
        self._last_doubted: float | None = None
        self.doubted: list[str] = []

    def joints(self, time: float, new: np.ndarray, errors: np.ndarray, rates: np.ndarray, offsets: np.ndarray) -> None:
        """Test readings: which are new (n,) bool, measured minus predicted (n,), predicted rates (n,), offsets (n,)."""
        limits, n = self.limits, len(self.names) - len(AXES)
        excess = np.abs(errors) / (limits.joint + limits.timing * np.abs(rates))
        excess = np.maximum(excess, np.abs(offsets) / limits.offset)
        self._assess(time, np.flatnonzero(new), excess[new], 0, n)

    def silent(self, time: float, silence: np.ndarray) -> None:
        """Test the time since the last reading of each joint (n,) [s]; 0 where none is expected."""
        gone = np.flatnonzero(silence > self.limits.silence)
        self._since[gone] = np.minimum(self._since[gone], time - self.limits.patience)
        self._excess[gone] = np.maximum(silence[gone] / self.limits.silence, 1.0)

    def attitude(self, time: float, innovation: Any, yaw: float) -> None:
        """Test the attitude: measured less predicted as a rotation vector (3,) in world axes [rad], predicted yaw."""
        cos, sin = np.cos(yaw), np.sin(yaw)
        roll, pitch = cos * innovation[0] + sin * innovation[1], -sin * innovation[0] + cos * innovation[1]
        limits = self.limits
        excess = np.abs([roll / limits.tilt, pitch / limits.tilt, innovation[2] / limits.yaw])
        first = len(self.names) - len(AXES)
        self._assess(time, np.arange(first, first + 3), excess, first, 3)

    def _assess(self, time: float, which: Any, excess: Any, first: Any, count: int) -> None:
        self._excess[which] = excess
        beyond = excess > 1.0
        self._since[which[~beyond]] = np.inf
        started = which[beyond]
        self._since[started] = np.minimum(self._since[started], time)

    def level(self, time: float) -> tuple[str, str]:
        """Return ("ok", "warn" or "error", what is doubted) now."""
        doubted = np.flatnonzero(time - self._since >= self.limits.patience)
        if doubted.size:
            self.doubted = [self.names[k] for k in doubted[np.argsort(-self._excess[doubted])]]
            self._last_doubted = time
            if self._doubt_began is None:
                self._doubt_began = time
        elif self._last_doubted is None or time - self._last_doubted > self.limits.calm:
            self._doubt_began = self._last_doubted = None
            self.doubted = []
        if self._doubt_began is None:
            return "ok", ""
        worst = ", ".join(self.doubted[:3])
        text = f"the measurements contradict the model at {worst}: the prediction is in doubt"
        return ("error" if time - self._doubt_began > self.limits.worse else "warn"), text
