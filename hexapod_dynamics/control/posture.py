"""When and how the robot sits down: on low supply, or before its servos are switched off. Times are arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DeviceError, ParameterError
from hexapod_dynamics.robot import Robot


@dataclass(frozen=True)
class SupplyLimits:
    """Supply voltages [V] below which to warn, sit down and switch torque off, each after `patience` [s] below it.

    A level ends when the supply is `hysteresis` [V] above it. The defaults suit three lithium cells: the maker
    asks to recharge below 9.6 V, and below 9.0 V the servos switch their torque off themselves.
    """

    warn: float = 10.2
    sit: float = 9.6
    release: float = 9.1
    hysteresis: float = 0.3
    patience: float = 2.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.release <= self.sit <= self.warn:
            raise DeviceError(
                f"supply limits release {self.release}, sit {self.sit}, warn {self.warn} V: "
                "allowed is 0 <= release <= sit <= warn"
            )


class SupplyMonitor:
    """Returns the reaction to the supply voltage: 'ok', 'warn', 'sit' or 'release'."""

    LEVELS = ("ok", "warn", "sit", "release")

    def __init__(self, limits: SupplyLimits | None = None) -> None:
        self.limits = limits or SupplyLimits()
        self.level = "ok"
        self._since = [math.inf] * 3  # [s] time at which the supply fell below each threshold; inf: it has not

    def update(self, voltage: float, t: float) -> str:
        """Process a supply voltage [V], NaN if unknown, at time t [s]; return the level."""
        if not np.isfinite(voltage):
            return self.level
        limits = self.limits
        reached = 0
        for k, threshold in enumerate((limits.warn, limits.sit, limits.release)):
            held = self.LEVELS.index(self.level) > k
            if voltage >= threshold + (limits.hysteresis if held else 0.0):
                self._since[k] = math.inf
            else:
                self._since[k] = min(self._since[k], t)
            if self._since[k] < math.inf and (held or t - self._since[k] >= limits.patience):
                reached = k + 1
        self.level = self.LEVELS[reached]
        return self.level


# Joint angles of each leg, from the body outward, when the belly is on the ground [rad]; further joints hold.
SIT_POSE = 0.0, 1.2, -0.45


def seated_pose(robot: Robot, leg_pose: Sequence[float] = SIT_POSE) -> np.ndarray:
    """Return the pose (n,) [rad] in which the belly is on the ground, NaN for joints that hold.

    Raises ParameterError if an angle is outside the limits of a joint.
    """
    pose = []
    for leg in robot.legs:
        for k, joint in enumerate(leg.joints):
            angle = leg_pose[k] if k < len(leg_pose) else math.nan
            if not (math.isnan(angle) or joint.lower <= angle <= joint.upper):
                raise ParameterError(
                    f"parameter sit_pose: {angle} rad is outside {joint.name}'s limits {joint.lower}..{joint.upper}"
                )
            pose.append(angle)
    return np.array(pose)


class SitDown:
    """A slow motion of all joints from their positions to the seated pose; all arrive at the same time.

    start, seated: (n,) [rad], NaN for an unknown joint (it does not move). speed [rad/s]: of the joint with the
    longest way.
    """

    def __init__(self, start: npt.ArrayLike, seated: npt.ArrayLike, speed: float, t: float) -> None:
        self._start, self._change = np.array(start, float), np.asarray(seated, float) - start
        self.way = float(np.nanmax(np.append(np.abs(self._change), 0.0)))  # [rad] longest way of a joint
        self.duration = self.way / speed  # [s] of the motion
        self.until_done = self.duration + 0.5  # [s]; the seated pose is commanded before torque is switched off
        self._begin = t

    def pose(self, t: float) -> np.ndarray:
        """Joint angles (n,) [rad] at time t [s]."""
        share = 1.0 if self.duration == 0.0 else min(1.0, max(0.0, (t - self._begin) / self.duration))
        return self._start + share * self._change

    def done(self, t: float) -> bool:
        """Whether the seated pose has been commanded for half a second."""
        return t - self._begin > self.until_done
