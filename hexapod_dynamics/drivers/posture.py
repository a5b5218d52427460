"""When and how the robot sits down: on low supply, or before its servos let go. Pure: times come in as arguments."""

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import DeviceError


@dataclass(frozen=True)
class SupplyLimits:
    """Supply voltages [V] below which to warn, sit down, and let go, each after `patience` [s] without a better value.

    A level is left again when the supply is `hysteresis` [V] above it. The defaults suit three lithium cells: the
    maker asks to recharge below 9.6 V, and the servos themselves let go below 9.0 V.
    """

    warn: float = 10.2
    sit: float = 9.6
    release: float = 9.1
    hysteresis: float = 0.3
    patience: float = 2.0

    def __post_init__(self):
        if not 0.0 <= self.release <= self.sit <= self.warn:
            raise DeviceError(f'supply limits release {self.release}, sit {self.sit}, warn {self.warn} V: '
                              'allowed is 0 <= release <= sit <= warn')


class SupplyJudge:
    """Says what the supply voltage asks for: 'ok', 'warn', 'sit' or 'release'."""

    LEVELS = ('ok', 'warn', 'sit', 'release')

    def __init__(self, limits: SupplyLimits | None = None):
        self.limits = limits or SupplyLimits()
        self.level = 'ok'
        self._since = [None, None, None]            # time at which each threshold was undercut

    def update(self, voltage: float, t: float) -> str:
        """Take a supply voltage [V], NaN where none is known, at time t [s]; returns the level."""
        if not np.isfinite(voltage):
            return self.level
        limits = self.limits
        reached = 0
        for k, threshold in enumerate((limits.warn, limits.sit, limits.release)):
            held = self.LEVELS.index(self.level) > k
            if voltage >= threshold + (limits.hysteresis if held else 0.0):
                self._since[k] = None
            elif self._since[k] is None:
                self._since[k] = t
            if self._since[k] is not None and (held or t - self._since[k] >= limits.patience):
                reached = k + 1
        self.level = self.LEVELS[reached]
        return self.level


class SitDown:
    """A slow motion of all joints from where they are to the seated pose, arriving together.

    start, seated: (n,) [rad], NaN where a joint is not known (it is left alone). speed [rad/s] of the joint that has
    furthest to go.
    """

    def __init__(self, start, seated, speed: float, t: float):
        self._start, self._way = np.array(start, float), np.asarray(seated, float) - start
        furthest = np.nanmax(np.abs(self._way), initial=0.0)
        self.duration = float(furthest) / speed
        self._begin = t

    def pose(self, t: float) -> np.ndarray:
        """Joint angles (n,) [rad] at time t [s]."""
        share = 1.0 if self.duration == 0.0 else min(1.0, max(0.0, (t - self._begin) / self.duration))
        return self._start + share * self._way

    def done(self, t: float) -> bool:
        """Whether the seated pose has been commanded for half a second."""
        return t - self._begin > self.duration + 0.5
