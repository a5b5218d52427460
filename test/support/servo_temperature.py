"""Temperatures of servos as a truth: losses warm the winding, the winding the case, the case the air."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# [J/K] of winding and case, [K/W] from winding to case and from case to air, [deg C] of the air.
WINDING, CASE, INSIDE, OUTSIDE, AIR = 8.0, 40.0, 3.0, 9.0, 25.0
# [W]: losses at stall, 11.1 V and 3 A, of which the copper's grow with the square of the torque; a servo that holds
# nothing takes 35 mA.
STALL_POWER, IDLE_POWER = 33.0, 0.4


class ServoTemperature:
    """Temperatures (n,) [deg C] of winding and case; a sensor sits on the case and reads whole degrees."""

    def __init__(self, joints: int, *, air: float = AIR, seed: int = 0) -> None:
        self._air, self._random = air, np.random.default_rng(seed)
        self.winding, self.case = np.full(joints, air), np.full(joints, air)

    def warm(self, seconds: float, powers: npt.ArrayLike) -> None:
        """Warm the windings by powers (n,) [W] for a time that is short beside 20 s."""
        flow = (self.winding - self.case) / INSIDE
        self.winding += seconds * (np.asarray(powers, float) - flow) / WINDING
        self.case += seconds * (flow - (self.case - self._air) / OUTSIDE) / CASE

    def read(self) -> np.ndarray:
        """Return what the servos report (n,) [deg C]."""
        return np.floor(self.case + self._random.normal(0.0, 0.2, len(self.case)))


def losses(torques: npt.ArrayLike, limit: float) -> np.ndarray:
    """Return the losses (n,) [W] of servos with these torques (n,), or their root mean squares, of `limit` [N m]."""
    return IDLE_POWER + STALL_POWER * np.square(np.asarray(torques, float) / limit)
