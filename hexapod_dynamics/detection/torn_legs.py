"""Decides whether three or more legs with silent servos were torn off at once, or whether the servo bus has a
fault.

They are torn off if the body moves differently from the model, or if the robot has walked without an answer of any
of their servos. Without these legs, the body may lie on the ground as level as with them.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings


class TornLegs:
    """Measures the difference between the lean of the body and that of the model, beyond the usual difference by
    ground and payload.

    All times are seconds on one clock; last_attitude: that of the last attitude.
    """

    def __init__(self, model: RunningModel, settings: DetectorSettings) -> None:
        self._model, self._limits = model, settings.limits
        self._half = round(0.5 * settings.limits.torn_walking / settings.command_period)  # ticks
        self._usual: tuple[float, ...] = (0.0, 0.0)  # roll, pitch [rad] beyond the model's
        # times of the last attitude, and of the last one that differed from the model's
        self.last_attitude = self._leant = -math.inf

    def measure_attitude(self, time: float, roll: float, pitch: float) -> float | None:
        """Note an attitude; return its difference [rad] from the model's attitude, beyond the usual difference;
        None if no model runs.
        """
        self.last_attitude, model = time, self._model
        if not model.started:
            return None
        modelled = model.tilt[model.row(model.tick - 1)]
        apart = roll - modelled.item(0) - self._usual[0], pitch - modelled.item(1) - self._usual[1]
        if max(abs(apart[0]), abs(apart[1])) > self._limits.torn_lean:
            self._leant = time
        else:
            self._usual = tuple(u + self._limits.lean_gain * a for u, a in zip(self._usual, apart, strict=True))
        return math.hypot(*apart)

    def are_gone(
        self, silences: list[SilentChain], bus: BusEvidence, time: float, suspicion: float, *, comparable: bool
    ) -> bool:
        """Whether the legs of these silences are gone.

        suspicion: that of the last slices; comparable: whether commands and readings arrive in time.
        """
        if self._moves_otherwise(suspicion):
            return True
        joints = [joint for silence in silences for joint in silence.joints]
        whole = bool(silences) and all(silence.link == 0 for silence in silences)
        if not whole or not comparable or not self._walks():
            return False
        return bus.silence(time, joints) > self._limits.torn_walking

    def _walks(self) -> bool:
        """Whether set-points have moved in both halves of the last `torn_walking` seconds."""
        half, model = self._half, self._model
        if not model.started or model.tick < 2 * half:
            return False
        ticks = np.arange(model.tick - 2 * half, model.tick).reshape(2, half)
        moved = np.ptp(model.targets[model.row(ticks)], axis=1).max(axis=1)
        return bool((moved > self._limits.watch_moved).all())

    def _moves_otherwise(self, suspicion: float) -> bool:
        """Whether the body has leant differently from the model a moment ago (a robot that sat down is level
        again), or the loads of the other joints differ, because the three remaining legs may hold it level.
        """
        leant = self.last_attitude - self._leant < self._limits.torn_for
        return leant or suspicion > self._limits.torn_suspicion
