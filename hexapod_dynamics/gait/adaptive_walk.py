"""The present action of the adaptive gait, and its measurements, as read from its arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import plan_numbers
from hexapod_dynamics.gait.array_gait import ArrayGait
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.gait_memory import WalkMemory
from hexapod_dynamics.gait.slope_reference import SlopeReference

# Commanded roll and pitch of the body.
LEANT = slice(layout.BODY_OFFSET + 3, layout.BODY_OFFSET + 5)
DOING = (
    "standing",
    "shifting",
    "walking",
    "settling",
    "sitting down",
    "moving feet",
    "sitting",
    "standing up",
    "pressing",
)


class AdaptiveWalk(ArrayGait):
    """A gait whose `data` is an `adaptive_state.Walk`; it does not choose plans."""

    data: layout.Walk
    arrival: Arrival
    slope: SlopeReference
    _memory: WalkMemory
    _measured: tuple[float, float]  # roll, pitch [rad]
    _attitude: tuple[float, float]  # roll, pitch [rad], less the commanded lean of the body

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Take the measured attitude of the body [rad]: for the yaw hold, and for the tilt reflex, which is
        relative to the slope of the ground as learnt. A robot that stands at the first measurement is assumed to
        stand parallel to the slope.
        """
        state, adopts = self.data.state, False
        if state[layout.SENSED] == 0.0:
            state[layout.YAW_REFERENCE] = yaw
            adopts = state[layout.MODE] == layout.STAND and not self.commanded
        state[layout.YAW], state[layout.SENSED] = yaw, 1.0
        leant_roll, leant_pitch = state[LEANT].tolist()
        self._measured = roll, pitch
        self._attitude = roll - leant_roll, pitch - leant_pitch
        self.slope.sense(*self._attitude, yaw)
        if adopts:
            self.slope.adopt()
        state[layout.TILTED] = self.slope.tilt

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
        return float(self.data.plan[plan_numbers.PERIOD]) or 1.0

    @property
    def phase(self) -> float:
        """Phase of the cycle, 0 to 1."""
        return float(self.data.state[layout.PHASE])

    @property
    def twist(self) -> np.ndarray:
        """The body twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that the gait follows now, without the yaw hold."""
        return self.data.state[layout.TWIST : layout.TWIST + 3].copy()

    @property
    def walking(self) -> bool:
        """Whether the legs are stepping, or about to."""
        return self.data.state[layout.MODE] in (layout.WALK, layout.START, layout.SETTLE, layout.PRESS)

    @property
    def doing(self) -> str:
        """The action of the gait in one word."""
        return DOING[int(self.data.state[layout.MODE])]
