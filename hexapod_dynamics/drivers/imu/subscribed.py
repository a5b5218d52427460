"""An IMU that another driver reads: its samples, checked for rate and age; like an ImuReader."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.imu.mpu6050 import Sample
from hexapod_dynamics.drivers.imu.reader import ReceivedImu

_OLD = 1.0  # [s] a sample whose stamp is this much older or newer than now is rejected: the clocks differ


class SubscribedImu(ReceivedImu):
    """Passes samples on to on_sample(sample, monotonic time [s]); its calls come from the thread that receives."""

    def __init__(self, on_sample: Callable[[Sample, float], object]) -> None:
        remedy = ": is the driver of the IMU up, is its topic remapped?"
        super().__init__(on_sample, "message on imu/data_raw", remedy)

    def accept(self, acceleration: Sequence[float], angular_velocity: Sequence[float], age: float, now: float) -> None:
        """Process a sample [m/s^2, rad/s] that is `age` [s] old (0 without a stamp), at the monotonic time `now`
        [s].
        """
        if not abs(age) <= _OLD:
            self.refuse(f"imu/data_raw: stamps are {age:.1f} s old: do the clocks of both computers differ?")
            return
        x, y, z = map(float, acceleration)
        p, q, r = map(float, angular_velocity)
        self.deliver(Sample((x, y, z), (p, q, r), math.nan, False, b""), now - max(age, 0.0))

    def refuse(self, reason: str) -> None:
        """Count a sample that is not used, for a reason."""
        self.health.count_error("refused", reason)
