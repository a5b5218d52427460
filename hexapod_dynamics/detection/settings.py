"""Settings of the damage detector, checked at their creation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.errors import HexapodError


def _limit(value: float, unit: str, meaning: str) -> float:
    return field(default=value, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class DetectorLimits:
    """Limits by which the detector judges a robot relative to itself: name, value, unit, meaning."""

    identify_first: float = _limit(5.0, "s", "of walking after which lag and dead zone are identified; 0: never")
    identify_again: float = _limit(9.5, "s", "of walking after which they are identified again, and then kept")
    widest_zone: float = _limit(np.radians(0.9), "rad", "largest dead zone that is identified (half width)")
    longest_lag: float = _limit(0.04, "s", "largest lag that is identified")
    least_lag: float = _limit(3e-3, "s", "change of the lag below which, with least_zone, the model stays as it is")
    least_zone: float = _limit(2.5e-3, "rad", "change of the dead zone below which, with least_lag, it stays")
    start_windows: float = _limit(40.0, "windows", "that are learnt at the start whatever they deviate by")
    start_deviation: float = _limit(400.0, "", "deviation above which a window is not learnt, even at the start")
    prior_offset: float = _limit(15e-3, "rad", "standard deviation of a joint's offset before anything is learnt")
    prior_lag: float = _limit(15e-3, "s", "of a joint's lag that the identification has left")
    prior_zone: float = _limit(6e-3, "rad", "of a joint's dead zone that the identification has left")
    relative_share: float = _limit(0.75, "", "of the declared robot's chi-square, that a foot may leave; 0: not judged")
    relative_misfit: float = _limit(12.0, "", "chi-square per feature that a foot may leave in this way")
    relative_tilt: float = _limit(15.0, "nats", "that roll and pitch contribute to a foot that is judged in this way")
    sure_tilt: float = _limit(65.0, "nats", "of roll and pitch in two banks from which such a foot is declared")
    probed_tilt: float = _limit(15.0, "nats", "of roll and pitch in two banks from which such a foot is probed")
    stuck_zones: float = _limit(2.0, "zones", "identified, over which a locked joint's readings may spread more")
    usual_misfit: float = _limit(
        1.5, "", "times the usual chi-square of banks without a finding, below which one is usual"
    )
    longest_calm: float = _limit(
        2.0, "s", "for which a bank without a finding is valid at most, after several in a row"
    )
    torn_lean: float = _limit(0.12, "rad", "by which a body leans otherwise than its model when three legs are gone")
    torn_suspicion: float = _limit(6.0, "", "suspicion from which three silent legs are gone although no body leans")

    @classmethod
    def absolute(cls) -> DetectorLimits:
        """Limits of a detector that takes servos for springs and judges by absolute limits alone."""
        return cls(
            identify_first=0.0,
            start_windows=0.0,
            prior_offset=4e-3,
            prior_lag=1e-9,
            prior_zone=1e-9,
            relative_share=0.0,
            stuck_zones=0.0,
            usual_misfit=0.0,
            longest_calm=0.5,
            torn_lean=np.inf,
            torn_suspicion=np.inf,
        )


@dataclass(frozen=True)
class DetectorSettings:
    """Settings of the detector; times in seconds, angles in radians.

    slice: duration over which features are averaged, about a quarter of a gait cycle. window: number of slices that are
    evaluated together. declare: posterior above which a hypothesis is declared; suspect: above which it is suspected.
    prior: log odds of one hypothesis against the declared state before any evidence. silent_after: a servo that has not
    answered for this time is silent. timestep: of the model; bank_timestep: of the simulated bank. members: of each
    half of the ensemble that makes the covariance. command_delay: from a command to the start of the servos.
    command_period: in which a servo moves to its target. limits: DetectorLimits.
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
    limits: DetectorLimits = DetectorLimits()

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
