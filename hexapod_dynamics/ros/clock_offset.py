"""Converts monotonic times to ROS stamps; the order is kept even when the process is interrupted.

ROS time is the system clock: `use_sim_time` is refused (ros/node_functions.py).
"""

from __future__ import annotations

import math
import time

from builtin_interfaces.msg import Time


class StampConverter:
    """Converts monotonic times [s] to stamps [ns]."""

    def __init__(self) -> None:
        self._offset: int | None = None  # [ns] ROS time minus monotonic time
        self._read = -math.inf

    def write(self, stamp: Time, monotonic: float) -> None:
        """Set a stamp to a monotonic time [s]."""
        stamp.sec, stamp.nanosec = divmod(self.nanoseconds_of(monotonic), 1_000_000_000)

    def nanoseconds_of(self, monotonic: float) -> int:
        """Return the ROS time [ns] of a monotonic time [s]."""
        now = time.monotonic()
        offset = self._offset
        if (
            offset is None
            or now - self._read > 1.0  # the system clock may have been corrected since
            or abs(time.time_ns() - now * 1e9 - offset) > 50e6  # [ns]: it was set
        ):
            self._read = now
            offset = self._offset = self._measured()
        return offset + int(monotonic * 1e9)

    def _measured(self) -> int:
        readings = []
        for _ in range(5):
            before, ros, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            readings.append((after - before, ros - (before + after) // 2))
        took, offset = min(readings)
        # Corrections of the clock are followed, but not the jitter of its measurement, 0.1 ms.
        if self._offset is not None and abs(offset - self._offset) <= max(took, 100_000):
            return self._offset
        return offset
