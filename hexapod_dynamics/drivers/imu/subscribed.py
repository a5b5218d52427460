"""An IMU that another driver reads: its samples, checked for rate and age; like an ImuReader."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.imu.mpu6050 import Sample
from hexapod_dynamics.drivers.imu.reader import ImuHealth

_LOST = 0.5  # [s] without a sample after which the IMU counts as lost
_OLD = 1.0  # [s] a sample whose stamp is this much older or newer than now is rejected: the clocks differ


class SubscribedImu:
    """Passes samples on to on_sample(sample, monotonic time [s]); its calls come from the thread that receives."""

    def __init__(self, on_sample: Callable[[Sample, float], object]) -> None:
        self.on_sample, self.health = on_sample, ImuHealth()
        self.health.last_error = "no message on imu/data_raw: is the driver of the IMU up, is its topic remapped?"
        self._last = -math.inf

    def start(self) -> None:
        """Do nothing: there is nothing to start."""

    def stop(self) -> None:
        """Do nothing: there is nothing to stop."""

    def take(self, acceleration: Sequence[float], angular_velocity: Sequence[float], age: float, now: float) -> None:
        """Process a sample [m/s^2, rad/s] that is `age` [s] old (0 without a stamp), at the monotonic time `now`
        [s].
        """
        health = self.health
        if not abs(age) <= _OLD:
            self.refuse(f"imu/data_raw: stamps are {age:.1f} s old: do the clocks of both computers differ?")
            return
        stamp = now - max(age, 0.0)
        if not health.connected:
            health.connected, health.starts = True, health.starts + 1
        elif math.isfinite(self._last):
            health.longest_gap = max(health.longest_gap, stamp - self._last)
        self._last = stamp
        health.samples += 1
        x, y, z = (float(value) for value in acceleration)
        p, q, r = (float(value) for value in angular_velocity)
        self.on_sample(Sample((x, y, z), (p, q, r), math.nan, False, b""), stamp)

    def refuse(self, reason: str) -> None:
        """Count a sample that is not used, for a reason."""
        self.health.last_error = reason
        self.health.errors["refused"] = self.health.errors.get("refused", 0) + 1

    def watch(self, now: float) -> None:
        """Note that no sample has come for a while."""
        if self.health.connected and now - self._last > _LOST:
            self.health.connected = False
            self.health.last_error = f"no message on imu/data_raw for more than {_LOST} s"
