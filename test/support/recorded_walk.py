"""Records what a damage detector would be given in a walk, and replays it: the same walk for many detectors.

A replay is the walk itself until the detector's first decision; from then on the robot would have walked otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.detection import DamageDetector, DetectorSettings
from hexapod_dynamics.robot import Morphology, Robot


class Recorder:
    """Takes the place of a DamageDetector in a BlindWalk and finds nothing; calls: what it was given, in order."""

    def __init__(self) -> None:
        self.settings = DetectorSettings()
        self.calls: list[tuple] = []

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Record a command."""
        self.calls.append(("command", time, positions.copy(), None if torques is None else torques.copy()))

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Record joint readings."""
        self.calls.append(("measure_joints", time, angles.copy()))

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Record an attitude."""
        self.calls.append(("measure_attitude", time, rotation.copy()))

    def bus(self, time: float, *masks: np.ndarray) -> None:
        """Record a report of the bus."""
        self.calls.append(("bus", time, *(mask.copy() for mask in masks)))

    def braces(self, time: float) -> None:
        """Record that the robot braces against a push."""
        self.calls.append(("braces", time))

    def set_morphology(self, morphology: Morphology) -> None:
        """Record a declaration."""
        self.calls.append(("set_morphology", morphology))

    def update(self, time: float) -> list[Any]:
        """Record an update; nothing is found."""
        self.calls.append(("update", time))
        return []

    def probe(self, _time: float) -> None:
        """No foot is pressed."""

    def retest(self, _time: float) -> None:
        """No joint is tried."""


class Silent(Recorder):
    """A detector that finds nothing and records nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.command = self.measure_joints = self.measure_attitude = self.bus = lambda *_: None
        self.braces = lambda _time: None
        self.update = lambda _time: []


def replay(
    robot: Robot, calls: list[tuple], settings: Any = None, more: float = 0.0
) -> tuple[list[tuple[float, Any]], DamageDetector]:
    """Give the calls of a Recorder to a DamageDetector; return its decisions, (time [s], Decision) up to the first
    update that has any and for `more` [s] after it, in which they are obeyed, and the detector.

    Feet that it asks to be pressed are not; the times are in its attribute `asked`: (time [s], leg). `ambiguous_legs`:
    (time [s], leg) of each update in which it could not tell whether a leg has lost its foot.
    """
    detector: Any = DamageDetector(robot, settings)
    detector.asked, detector.ambiguous_legs = [], []
    all_found: list[tuple[float, Any]] = []
    for name, *arguments in calls:
        found = getattr(detector, name)(*arguments)
        if name != "update":
            continue
        decisions = [one for one in found if one.action != "suspect"]
        for one in decisions if more else ():
            detector.set_morphology(detector.morphology.updated(one.values))
        all_found += [(arguments[0], one) for one in decisions]
        if all_found and arguments[0] >= all_found[0][0] + more:
            return all_found, detector
        unknown = detector.ambiguous(arguments[0])
        if unknown is not None:
            detector.ambiguous_legs.append((arguments[0], unknown[0]))
        leg = detector.probe(arguments[0])
        if leg is not None:
            detector.asked.append((arguments[0], leg))
    return all_found, detector
