"""Converts monotonic times to ROS stamps; the order is kept even when the process is interrupted.

ROS time is the system clock: `use_sim_time` is refused (ros/node_functions.py).
"""

from __future__ import annotations

import math
import time

from builtin_interfaces.msg import Time

# [s] interval after which the offset is measured again, because the system clock may have been corrected
_REFRESH = 1.0
_STEP = 50e6  # [ns] jump of the system clock after which the offset is measured again
_CLOSE = 100e-6  # [s] largest interval between two clock readings for a valid offset


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
            or now - self._read > _REFRESH
            or abs(time.time_ns() - now * 1e9 - offset) > _STEP  # the system clock was set
        ):
            self._read = now
            offset = self._offset = self._measured()
        return offset + int(monotonic * 1e9)

    def _measured(self) -> int:
        best, offset = math.inf, 0
        for _ in range(5):
            before = time.monotonic_ns()
            ros = time.time_ns()
            after = time.monotonic_ns()
            if after - before < best:
                best, offset = after - before, ros - (before + after) // 2
            if best < _CLOSE * 1e9:
                break
        # Corrections of the clock are followed, but not the jitter of its measurement.
        if self._offset is not None and abs(offset - self._offset) <= max(best, _CLOSE * 1e9):
            return self._offset
        return offset
