"""Base of the gaits whose state is memory that the core advances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.interface import Gait

# Mean speed of the transition from measured joints, as a share of the speed limit.
LEADING_SPEED = 0.1


class ArrayGait(Gait):
    """A gait whose state is `data`, memory of the core made by `bind`.

    It has at least: start, position and velocity (n,).
    """

    data: Any

    @property
    def position(self) -> np.ndarray:
        """Joint set-points (n,) [rad] of the last step; overwritten by the next."""
        return self.data.position

    @property
    def velocity(self) -> np.ndarray:
        """Rates (n,) [rad/s] of the joint set-points of the last step; overwritten by the next."""
        return self.data.velocity

    @property
    @abstractmethod
    def asked(self) -> np.ndarray:
        """The twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that is commanded; a view."""

    @property
    def commanded(self) -> bool:
        """Whether the gait walks or has been commanded to."""
        return self.walking or bool(self.asked.any())

    def check_step(self, dt: float) -> None:
        """Raise HexapodError unless dt [s] is 0 to a quarter period."""
        if not 0.0 <= dt <= 0.25 * self.period:
            raise HexapodError(f"dt: given {dt} s, allowed are 0 to a quarter period, {0.25 * self.period} s")

    def start_at(self, joints: npt.ArrayLike) -> float:
        """Start a transition at measured joints (n,) [rad]; return its duration [s]."""
        if self.robot is None:
            raise HexapodError("the gait belongs to no robot yet: call bind first")
        joints = np.asarray(joints, float)
        if joints.shape != self.position.shape or not np.isfinite(joints).all():
            raise HexapodError(f"joints: {self.position.size} finite angles [rad] needed, given {joints.tolist()}")
        furthest = float(np.abs(self.position - joints).max())
        self.data.start[:] = joints
        return furthest / (LEADING_SPEED * self.robot.servo.speed_limit)


def finite_twist(vx: float, vy: float, wz: float) -> np.ndarray:
    """Return a command (3,) [m/s, m/s, rad/s]; HexapodError for values that are not finite."""
    command = np.array([vx, vy, wz], float)
    if not np.isfinite(command).all():
        raise HexapodError(f"velocity command ({vx}, {vy}, {wz}): finite numbers needed; the last command stays")
    return command
