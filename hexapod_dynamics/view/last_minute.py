"""The last minute of the robot in the browser, for the time slider and the trail."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

LENGTH, EVERY = 60.0, 0.1  # [s] length of the history, and time between two samples
TRAIL_STEP = 0.02  # [m] between two points of the trail


@dataclass(frozen=True)
class Sample:
    """The displayed robot at a time [s]: position (3,) [m], quaternion (4,) x y z w, joints [rad or m], URDF.

    simulated: whether it is the true state of a simulated one.
    """

    time: float
    position: np.ndarray
    quaternion: np.ndarray
    joints: Mapping[str, float]
    urdf: str
    simulated: bool = False

    @property
    def rotation(self) -> Rotation:
        """World <- base_link."""
        return Rotation.from_quat(self.quaternion)


class LastMinute:
    """Keeps samples of the last LENGTH seconds, one every EVERY seconds."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()
        self._trail: deque[tuple[float, np.ndarray]] = deque()
        self.steps = 0  # how many points the trail has got so far

    def add(self, sample: Sample) -> None:
        """Add a sample, if the last one is old enough."""
        if self._samples and sample.time - self._samples[-1].time < EVERY:
            return
        self._samples.append(sample)
        if not self._trail or np.linalg.norm(sample.position - self._trail[-1][1]) > TRAIL_STEP:
            self._trail.append((sample.time, sample.position))
            self.steps += 1
        oldest = sample.time - LENGTH
        while self._samples[0].time < oldest:
            self._samples.popleft()
        while self._trail and self._trail[0][0] < oldest:
            self._trail.popleft()

    def find(self, time: float) -> Sample | None:
        """Return the sample nearest to a time [s]; None if there is none."""
        return min(self._samples, key=lambda sample: abs(sample.time - time), default=None)

    def speed(self, over: float) -> float:
        """Return the mean speed [m/s] over ground in the last `over` seconds; NaN if it is not known, or if the robot
        that was shown was another one.
        """
        last = self._samples[-1]
        then = self.find(last.time - over) or last
        passed = last.time - then.time
        if passed < 0.8 * over or then.simulated != last.simulated:
            return math.nan
        return math.dist(last.position[:2], then.position[:2]) / passed

    def trail(self) -> np.ndarray:
        """Return the places (k, 3) [m] of the body, the oldest first, TRAIL_STEP apart."""
        return np.array([place for _, place in self._trail]).reshape(-1, 3)
