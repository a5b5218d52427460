"""Evaluates each driven joint with every slice: which joints do not follow, and since when."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.detection import joint_evidence
from hexapod_dynamics.detection.joint_evidence import JointCondition
from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.detection.window import MeasurementWindow


class JointWatch:
    """Stores since when joints do not follow. news: {joint: JointCondition} of these joints."""

    def __init__(self, joints: int, slice_ticks: int, limits: DetectorLimits = LIMITS) -> None:
        self._slice_ticks, self._limits = slice_ticks, limits
        self._since, self._last = np.full(joints, np.inf), np.full(joints, -np.inf)  # [ticks]
        self.news: dict[int, JointCondition] = {}

    def forget(self) -> None:
        """Discard since when joints do not follow, because the earlier readings are no longer valid."""
        self._since[:] = np.inf

    def clear(self) -> None:
        """Discard all suspicions."""
        self.forget()
        self.news = {}

    def suspect(self, joint: int, tick: int) -> None:
        """Note that a bank blames a joint at this tick: the kind of its damage follows from later readings."""
        self._since[joint], self._last[joint] = min(self._since[joint], tick), tick

    def look(
        self, window: MeasurementWindow, tick: int, driven: np.ndarray, expected: Any, valid: float = -np.inf
    ) -> None:
        """Find the joints that do not follow; without commands no joint counts as stuck.

        driven: indices of the joints to look at; expected (n,) [rad]: usual residuals; tick: the model's present one;
        valid: tick from which on the model has the servos' set-points; earlier readings do not make a joint
        locked.
        """
        self.news = {}
        moved, limits = 0, self._limits
        for joint in driven:
            places, angles, residuals = self._last_readings(*window.recent(joint, limits.watch_most))
            if tick - self._last[joint] > limits.forgiven * self._slice_ticks:
                self._since[joint] = np.inf
            reach = window.reach(joint, places, limits.lock_lag)
            since = self._since[joint]
            news = joint_evidence.look(places, angles, residuals, reach, expected[joint], since, valid, limits)
            moved += len(angles) > 3 and np.ptp(angles) > limits.watch_moved
            if news.state != "follows":
                self.news[int(joint)] = news
                self._last[joint] = tick
                # Only the last reading certainly belongs to the present state of the joint.
                self._since[joint] = min(self._since[joint], places[-1])
            elif np.isfinite(self._since[joint]):
                self.news[int(joint)] = news
        if moved < limits.watch_share * len(driven):
            self.news = {joint: one for joint, one in self.news.items() if one.state != "locked"}

    def _last_readings(self, places: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the readings of the last period, at least the fewest, of all these."""
        if not len(places):
            return places, *values
        first = int(np.searchsorted(places, places[-1] - self._limits.watch_period / joint_evidence.TICK))
        first = max(0, min(first, len(places) - self._limits.watch_least))
        return tuple(one[first:] for one in (places, *values))
