"""Three legs or more whose servos are all silent: torn off at once, or a fault of the servo bus?

They are torn off where the body moves otherwise than the model, or where the robot has walked without an answer of any
of their servos. A body may lie level on the ground without them, as if they were there.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings


class TornLegs:
    """By how far the body leans otherwise than the model, beyond what it usually does by ground and payload.

    All times are seconds on one clock; last_attitude: that of the last attitude.
    """

    def __init__(self, model: RunningModel, settings: DetectorSettings) -> None:
        self._model, self._limits = model, settings.limits
        self._half = round(0.5 * settings.limits.torn_walking / settings.command_period)  # ticks
        self._usual: tuple[float, ...] = (0.0, 0.0)  # roll, pitch [rad] beyond the model's
        self.last_attitude = self._leant = -math.inf  # the last attitude, the last one that was not the model's

    def measure_attitude(self, time: float, roll: float, pitch: float) -> float | None:
        """Note an attitude; return by how far [rad] it is from the model's and the usual; None: no model runs."""
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

        suspicion: that of the last slices; comparable: commands and readings come in time.
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
        """Whether the body has leant otherwise than the model a moment ago (a robot that sat down is level again), or
        the other joints are loaded otherwise: three legs that are left may hold it level.
        """
        leant = self.last_attitude - self._leant < self._limits.torn_for
        return leant or suspicion > self._limits.torn_suspicion
