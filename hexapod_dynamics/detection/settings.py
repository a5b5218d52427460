"""Settings of the damage detector, checked at their creation."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.errors import HexapodError

# [s] period of commands with which the robot can be compared with the model. The network was trained with 0.02; of
# launched robots with 0.03 and 0.04, 6 of 6 lost feet were named right, in 0.4 to 1.8 s.
SLOWEST = 0.04


@dataclass(frozen=True)
class DetectorSettings:
    """Settings of the detector; times in seconds.

    declare: mean probability of a damage over half a second, above which it is declared; the network's own thresholds
    may be higher. suspect: above which it is suspected. silent_after: a servo that has not answered for this time is
    silent. timestep: of the model. command_delay: from a command to the start of the servos. command_period: time in
    which a servo moves to its target. guard: bounds of the commands in the servos' guard; None: its own for the robot.
    """

    declare: float = 0.9
    suspect: float = 0.5
    silent_after: float = 0.3
    timestep: float = 2e-3
    command_delay: float = 0.018
    command_period: float = 0.02
    guard: GuardSettings | None = None

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if name == "guard":  # checks itself
                continue
            if name in ("declare", "suspect"):
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
    def comparable(self) -> bool:
        """Whether commands are frequent enough to compare the robot with the model; else only the bus is evaluated."""
        return self.command_period <= 1.02 * SLOWEST  # a measured period varies
