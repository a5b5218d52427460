"""Restored legs in the adaptive gait: they are held up until their joints have arrived at this pose, then moved
from there.

The servos approach a new set-point slowly, and a body tips if it stands on a leg that has not arrived yet. So the
robot walks on without these legs until measurements show that their joints have arrived; then it stops on the
other legs, sets the restored legs down and walks on. It sits down for that only if the other legs cannot carry it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError

# Joints have arrived when they are within NEAR [rad] of their pose for NEAR_FOR [s]. After PATIENCE [s] the robot uses
# the legs in any pose: the servos approach at 0.8 rad/s and have at most 3.5 rad to go.
NEAR, NEAR_FOR, PATIENCE = 0.06, 0.2, 6.0
# Longest time [s] for which the robot walks on until it can stop on the other feet without tipping.
STEADY = 3.0


class Arrival:
    """Decides whether the restored legs have arrived at the pose in which they are held up; `legs`: their indices,
    none at first.

    Without measurements (`measure` never called) there is nothing to wait for.
    """

    def __init__(self, joints: int) -> None:
        self.legs: list[int] = []
        self._angles: np.ndarray | None = None
        self._joints = joints
        self._waited = self._near_for = self._over_for = 0.0

    def copy(self) -> Arrival:
        """Return a copy with the same legs; it gets no measurements."""
        twin = Arrival(self._joints)
        twin.legs = list(self.legs)
        return twin

    def awaited(self, legs: list[int]) -> list[int]:
        """Return the restored legs that are awaited; none without measurements."""
        return legs if self._angles is not None else []

    def measure(self, angles: npt.ArrayLike) -> None:
        """Add measured joint angles (n,) [rad], NaN where unknown."""
        angles = np.array(angles, float)
        if angles.shape != (self._joints,):
            raise HexapodError(f"joints: {self._joints} angles [rad] needed, given an array {angles.shape}")
        self._angles = angles

    def expect(self, legs: list[int]) -> list[int]:
        """Wait for these legs from now on, if joints are measured; return the awaited legs."""
        self.legs = self.awaited(legs)
        self._waited = self._near_for = self._over_for = 0.0
        if self._angles is not None:
            self._angles[:] = np.nan
        return self.legs

    def over(self, table: np.ndarray, dt: float) -> bool:
        """Advance by dt [s]; return whether the wait for legs is over. table: rows of `leg_table`."""
        if not self.legs:
            return False
        self._waited += dt
        near = self._angles is not None and all(
            (np.abs(self._angles[3 * i : 3 * i + 3] - table["rest"][i]) < NEAR).all() for i in self.legs
        )
        self._near_for = self._near_for + dt if near else 0.0
        over = self._near_for >= NEAR_FOR or self._waited >= PATIENCE
        self._over_for = self._over_for + dt if over else 0.0
        return over

    @property
    def overdue(self) -> bool:
        """True if the wait ended so long ago that the robot may stop even on unstable feet."""
        return self._over_for >= STEADY
