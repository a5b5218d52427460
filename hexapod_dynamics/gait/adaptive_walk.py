"""What the adaptive gait does now, and what it senses: all that its arrays tell."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import plan_numbers
from hexapod_dynamics.gait.adaptive_settings import MOST_LEAN, checked_lean
from hexapod_dynamics.gait.array_gait import ArrayGait
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.ground_adaptation import GroundAdaptation
from hexapod_dynamics.gait.slope_reference import SlopeReference

# Roll and pitch that the body has been asked for.
LEANT = slice(layout.BODY_OFFSET + 3, layout.BODY_OFFSET + 5)
# Lift [m] of the feet on rough ground, factor on the tilt limit there: feet that stand on obstacles tilt the body.
HIGH_LIFT, ROUGH_TILT = 0.04, 2.0
FORGIVEN = 10.0  # [s] of walking on rough ground after which a tilt reflex no longer counts
LOADED = 0.9  # height of the centre of mass over the feet as a share of that of base_link
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
    """A gait whose `data` is an `adaptive_state.Walk`, without the choice of a plan."""

    data: layout.Walk
    arrival: Arrival
    slope: SlopeReference
    _attitude: tuple[float, float]  # roll, pitch, less what the body was asked to lean
    _lean: np.ndarray
    _reflexes: float  # of which the ground is known

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Take the measured attitude of the body [rad]: for the yaw hold, and for the tilt reflex, which is
        relative to the slope of the ground as learnt. A robot that stands when it is sensed first stands on its slope.
        """
        state, adopts = self.data.state, False
        if state[layout.SENSED] == 0.0:
            state[layout.YAW_REFERENCE] = yaw
            adopts = state[layout.MODE] == layout.STAND and not self.commanded
        state[layout.YAW], state[layout.SENSED] = yaw, 1.0
        leant_roll, leant_pitch = state[LEANT].tolist()
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
        """Take measured joint angles (n,) [rad], NaN where unknown: once called, legs that come back are used only when
        their joints are where they are held up.
        """
        self.arrival.measure(angles)

    @property
    def awaits_joints(self) -> bool:
        """Whether legs came back and have not arrived: `measure_joints` is needed."""
        return bool(self.arrival.legs)

    def lean(self, offset: npt.ArrayLike) -> None:
        """Move the body over its feet: offset (6,) x, y, z [m], roll, pitch, yaw [rad] from where the gait has it."""
        self._lean[:] = checked_lean(offset)
        self.data.command[layout.OFFSET :] = self._lean

    def _adapt(self, ground: GroundAdaptation, dt: float, lift: float, tilt_limit: float) -> None:
        """Let dt [s] pass for what adapts to the ground, and put it in force; lift [m], tilt_limit [rad]: those of
        smooth ground.
        """
        data = self.data
        if data.state[layout.SENSED] == 0.0:
            return
        mode, reflexes = data.state[layout.MODE], float(data.state[layout.REFLEXES])
        if mode == layout.RISE and reflexes > self._reflexes:
            ground.expect_rough()
        if mode == layout.RISE or reflexes == 0.0:
            self._reflexes = reflexes
        ground.height = LOADED * float(data.state[layout.HEIGHT_NOW])
        walks = mode == layout.WALK
        tilted = data.state[layout.TILTED] > tilt_limit
        heading = 0.0
        if data.settings[layout.YAW_GAIN] > 0.0:
            heading = math.remainder(float(data.state[layout.YAW] - data.state[layout.YAW_REFERENCE]), math.tau)
        ground.update(dt, self.phase, *self._attitude, self.slope.attitude, heading, walks, tilted)
        if ground.rough and ground.walked_for > FORGIVEN:
            data.state[layout.REFLEXES] = 0.0
        data.plan[plan_numbers.LIFT] = lift + ground.share * max(0.0, HIGH_LIFT - lift)
        data.settings[layout.TILT] = tilt_limit * (1.0 + ground.leeway * (ROUGH_TILT - 1.0))
        data.command[layout.OFFSET] = _bounded(self._lean[0] + ground.shift_x, 0)
        data.command[layout.OFFSET + 1] = _bounded(self._lean[1] + ground.shift_y, 1)

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
        """What the gait does, in a word."""
        return DOING[int(self.data.state[layout.MODE])]


def _bounded(value: float, axis: int) -> float:
    """Return an offset of the body [m] within what it may be moved over its feet."""
    return min(MOST_LEAN[axis], max(-MOST_LEAN[axis], value))
