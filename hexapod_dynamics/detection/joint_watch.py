"""Looks at each driven joint with every slice: which do not follow, and since when."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.detection import joint_evidence
from hexapod_dynamics.detection.joint_evidence import JointCondition
from hexapod_dynamics.detection.window import MeasurementWindow

_FORGIVEN = 5  # slices after which a joint that follows again is no longer suspected
_MOVED = 0.02  # [rad] spread of the readings of a joint that moves


class JointWatch:
    """Stores since when joints do not follow. news: {joint: JointCondition} of these joints."""

    def __init__(self, joints: int, slice_ticks: int) -> None:
        self._slice_ticks = slice_ticks
        self._since, self._last = np.full(joints, np.inf), np.full(joints, -np.inf)  # [ticks]
        self.news: dict[int, JointCondition] = {}

    def forget(self) -> None:
        """Forget since when joints do not follow: the readings before are no longer valid."""
        self._since[:] = np.inf

    def clear(self) -> None:
        """Forget everything that is suspected."""
        self.forget()
        self.news = {}

    def suspect(self, joint: int, tick: int) -> None:
        """Note that a bank blames a joint at this tick: the readings from now on say how it is damaged."""
        self._since[joint], self._last[joint] = min(self._since[joint], tick), tick

    def look(self, window: MeasurementWindow, tick: int, driven: np.ndarray, expected: Any) -> None:
        """Find the joints that do not follow; without commands no joint counts as stuck.

        driven: indices of the joints to look at; expected (n,) [rad]: usual residuals; tick: the model's present one.
        """
        self.news = {}
        moved = 0
        for joint in driven:
            places, angles, residuals = window.recent(joint, 9)
            if tick - self._last[joint] > _FORGIVEN * self._slice_ticks:
                self._since[joint] = np.inf
            news = joint_evidence.look(places, angles, residuals, expected[joint], self._since[joint])
            moved += len(angles) > 3 and np.ptp(angles) > _MOVED
            if news.state != "follows":
                self.news[int(joint)] = news
                self._last[joint] = tick
                # Only the last reading surely belongs to the present state of the joint.
                self._since[joint] = min(self._since[joint], places[-1])
            elif np.isfinite(self._since[joint]):
                self.news[int(joint)] = news
        if moved < 0.3 * len(driven):
            self.news = {joint: one for joint, one in self.news.items() if one.state != "locked"}
