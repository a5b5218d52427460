"""Decides whether three or more legs with silent servos were torn off at once, or whether the servo bus has a fault.

They are torn off if the body moves differently from the model, or if the robot has walked without an answer of any
of their servos. Without these legs, the body may lie on the ground as level as with them.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.features import FeatureExtractor

WALKING = 1.0  # [s] of walking without an answer of three legs, after which they are gone
MOVED = 0.02  # [rad] by which a set-point of a robot that walks moves in half of this time


class SimultaneousLegLoss:
    """Notes how the body leans; times are seconds on one clock."""

    def __init__(self, features: FeatureExtractor) -> None:
        self._features = features
        self._leant = -math.inf

    def update(self, time: float) -> None:
        """Note the lean of the body at a time [s]."""
        if np.abs(self._features.lean).max() > 0.12:  # three legs are gone; a walk with all leans by less
            self._leant = time

    def are_lost(self, silences: list[SilentChain], bus: BusEvidence, time: float, *, comparable: bool) -> bool:
        """Whether the legs of these silences are gone; comparable: whether commands and readings arrive in time."""
        if time - self._leant < 2.0:  # a robot that sat down is level again
            return True
        joints = [joint for silence in silences for joint in silence.joints]
        complete = bool(silences) and all(silence.link == 0 for silence in silences)
        return complete and comparable and self._walks() and bus.silence(time, joints) > WALKING

    def _walks(self) -> bool:
        """Whether set-points have moved in both halves of the last WALKING seconds."""
        model = self._features.model
        half = round(0.5 * WALKING / model.period)
        if not model.started or model.tick < 2 * half:
            return False
        ticks = np.arange(model.tick - 2 * half, model.tick).reshape(2, half)
        return bool((np.ptp(model.targets[model.row(ticks)], axis=1).max(axis=1) > MOVED).all())
