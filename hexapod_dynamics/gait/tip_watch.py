"""Detects from the IMU that a push tips the robot: the body leans more and more, and it does not sink."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_dynamics.settings_check import require_positive


@dataclass(frozen=True)
class TipSettings:
    """Limits that define a robot that is tipped by a push.

    lean [rad]: least lean that the body reaches `ahead` [s] from now at its present angular velocity; a lean is
    the change of the body's upward direction against its mean over mean_time [s], which is unknown for this time.
    force [m/s^2], times: the smoothed sideways specific force, at its largest within about force_time [s], must
    exceed `force` and `times` its usual size, because a robot whose feet step onto edges leans, too. rise [m/s]:
    least upward velocity of the body, the integral of the vertical specific force over about rise_time [s]: a
    robot that tips over an edge of its feet rises. A robot that has lost a foot sinks: for after_sinking [s] after
    its upward velocity was below minus `sinking` [m/s] it is not tipped, because its fall onto the ground looks
    like a push.
    """

    lean: float = 0.2
    ahead: float = 0.1
    mean_time: float = 2.0
    force: float = 4.5
    times: float = 1.4
    force_time: float = 0.2
    rise: float = 0.02
    rise_time: float = 0.15
    sinking: float = 0.03
    after_sinking: float = 0.4

    def __post_init__(self) -> None:
        require_positive(self.__dict__)


class TipWatch:
    """Lean, vertical velocity and sideways force of the body, from each sample of the IMU."""

    def __init__(self, settings: TipSettings | None = None) -> None:
        self.settings = settings or TipSettings()
        self.force = 0.0  # [m/s^2] the largest sideways force of late
        self._lean = [0.0, 0.0]  # [rad] x and y of the upward direction in base_link, less their means
        self._vertical: float | None = None  # [m/s^2] mean vertical specific force; None until the first sample
        self._rise = self._age = 0.0  # [m/s], [s] since the first sample
        self._since_sinking = math.inf  # [s]

    def update(self, dt: float, force: Sequence[float], rate: Sequence[float], side: float) -> bool:
        """Process a sample, dt [s] after the previous one; return whether the body leans as if it tips.

        force (3,) [m/s^2], rate (3,) [rad/s]: specific force and angular velocity in base_link. side [m/s^2]: size of
        the smoothed sideways specific force. The caller also compares `self.force` with its usual size.
        """
        settings = self.settings
        # The upward direction u is fixed in the world: in base_link du/dt = u x rate, and u is near (0, 0, 1).
        change = -rate[1], rate[0]
        keep = max(0.0, 1.0 - dt / settings.mean_time)
        self._lean = [keep * lean + dt * speed for lean, speed in zip(self._lean, change, strict=True)]
        x, y = self._lean
        vertical = x * force[0] + y * force[1] + math.sqrt(max(0.0, 1.0 - x * x - y * y)) * force[2]
        mean = vertical if self._vertical is None else self._vertical
        self._vertical = mean + min(1.0, dt / settings.mean_time) * (vertical - mean)
        self._rise = max(0.0, 1.0 - dt / settings.rise_time) * self._rise + dt * (vertical - mean)
        self.force = max(side, max(0.0, 1.0 - dt / settings.force_time) * self.force)
        self._since_sinking = 0.0 if self._rise < -settings.sinking else self._since_sinking + dt
        soon = math.hypot(*(lean + settings.ahead * speed for lean, speed in zip(self._lean, change, strict=True)))
        self._age += dt
        if self._age < settings.mean_time or self._since_sinking < settings.after_sinking:
            return False
        return soon > settings.lean and self.force > settings.force and self._rise > settings.rise
