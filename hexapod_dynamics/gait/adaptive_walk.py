"""The present action of the adaptive gait, and its measurements, as read from its arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.array_gait import ArrayGait
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.modes import DOING, Mode
from hexapod_dynamics.gait.slope_reference import SlopeReference


class AdaptiveWalk(ArrayGait):
    """A gait whose `data` is an `_core.Walk`; it does not choose plans."""

    data: _core.Walk
    arrival: Arrival
    slope: SlopeReference
    _measured: tuple[float, float]  # roll, pitch [rad]
    _attitude: tuple[float, float]  # roll, pitch [rad], less the commanded lean of the body

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Take the measured attitude of the body [rad]: for the yaw hold, and for the tilt reflex, which is
        relative to the slope of the ground as learnt. A robot that stands at the first measurement is assumed to
        stand parallel to the slope.
        """
        state, adopts = self.data.state, False
        if state.sensed == 0.0:
            state.yaw_reference = yaw
            adopts = state.mode == Mode.STAND and not self.commanded
        state.yaw, state.sensed = yaw, 1.0
        leant_roll, leant_pitch = state.body_offset[3:5].tolist()
        self._measured = roll, pitch
        self._attitude = roll - leant_roll, pitch - leant_pitch
        self.slope.sense(*self._attitude, yaw)
        if adopts:
            self.slope.adopt()
        state.tilted = self.slope.tilt

    @property
    def level(self) -> tuple[float, float, float]:
        """Upward direction (3,), in base_link axes, of a body that stands on the learnt slope."""
        return self.slope.level

    def measure_joints(self, angles: npt.ArrayLike) -> None:
        """Take measured joint angles (n,) [rad], NaN where unknown: after the first call, restored legs are used
        only when their joints have reached the pose in which they are held up.
        """
        self.arrival.measure(angles)

    @property
    def awaits_joints(self) -> bool:
        """Whether restored legs have not arrived yet: then `measure_joints` is needed."""
        return bool(self.arrival.legs)

    @property
    def period(self) -> float:
        """Time of a whole cycle [s]."""
        return float(self.data.plan.period) or 1.0

    @property
    def asked(self) -> np.ndarray:
        """The commanded twist (3,) [m/s, m/s, rad/s]; a view."""
        return self.data.command.twist

    @property
    def phase(self) -> float:
        """Phase of the cycle, 0 to 1."""
        return float(self.data.state.phase)

    @property
    def twist(self) -> np.ndarray:
        """The body twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that the gait follows now, without the yaw hold."""
        return self.data.state.twist.copy()

    @property
    def walking(self) -> bool:
        """Whether the legs are stepping, or about to."""
        return self.data.state.mode in (Mode.WALK, Mode.START, Mode.SETTLE, Mode.PROBE)

    @property
    def doing(self) -> str:
        """The action of the gait in one word."""
        return DOING[Mode(int(self.data.state.mode))]
