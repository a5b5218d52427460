"""Settings of the damage detector, checked at their creation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.errors import HexapodError


@dataclass(frozen=True)
class DetectorSettings:
    """Settings of the detector; times in seconds, angles in radians.

    slice: duration over which features are averaged, about a quarter of a gait cycle. window: number of slices that are
    evaluated together. declare: posterior above which a hypothesis is declared; suspect: above which it is suspected.
    prior: log odds of one hypothesis against the declared state before any evidence. silent_after: a servo that has not
    answered for this time is silent. timestep: of the model; bank_timestep: of the simulated bank. members: number
    of robots in each half of the ensemble from which the covariance is computed. command_delay: from a command to
    the start of the servos. command_period: time in which a servo moves to its target. limits: see limits.py.
    """

    slice: float = 0.32
    window: int = 5
    declare: float = 0.98
    suspect: float = 0.5
    prior: float = -9.0
    silent_after: float = 0.3
    timestep: float = 2e-3
    bank_timestep: float = 4e-3
    members: int = 12
    command_delay: float = 0.018
    command_period: float = 0.02
    limits: DetectorLimits = LIMITS

    def __post_init__(self) -> None:
        low = {"window": 2, "members": 4}
        for name, value in self.__dict__.items():
            if name == "limits":
                good, allowed = isinstance(value, DetectorLimits), "DetectorLimits"
            elif name == "prior":
                good = np.isfinite(value) and value < 0.0
                allowed = "finite numbers below 0"
            elif name in low:
                good, allowed = isinstance(value, int) and value >= low[name], f"whole numbers from {low[name]}"
            elif name in ("declare", "suspect"):
                good, allowed = 0.0 < value < 1.0, "numbers above 0 and below 1"
            elif name == "command_delay":
                good, allowed = 0.0 <= value <= 1.0, "0 to 1 s"
            else:
                good, allowed = 0.0 < value <= 2.0, "numbers above 0 to 2 s"
            if not good:
                raise HexapodError(f"{name}: given {value!r}, allowed are {allowed}")
        if self.suspect > self.declare:
            raise HexapodError(f"suspect: given {self.suspect}, allowed are numbers up to declare, {self.declare}")

    @property
    def slice_ticks(self) -> int:
        """Ticks of the commands in a slice."""
        return max(2, round(self.slice / self.command_period))
