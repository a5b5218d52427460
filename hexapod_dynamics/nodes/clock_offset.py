"""Converts monotonic times to ROS stamps; the order is kept even when the process is interrupted."""

import math
import time

from rclpy.time import Time

_REFRESH = 1.0  # [s] interval in which the system clock may be corrected
_STEP = 50e6  # [ns] jump of the system clock after which the offset is measured again
_CLOSE = 100e-6  # [s] largest interval of two clock readings that give a valid offset


class StampConverter:
    """Converts monotonic times [s] to stamps of a node's clock."""

    def __init__(self, node):
        self._clock = node.get_clock()
        self._offset, self._read = None, -math.inf

    def of(self, monotonic):
        """Return the builtin_interfaces/Time of a monotonic time [s]."""
        now = time.monotonic()
        stepped = self._offset is None or abs(self._clock.now().nanoseconds - now * 1e9 - self._offset) > _STEP
        if stepped or now - self._read > _REFRESH:
            self._read = now
            self._measure()
        return Time(nanoseconds=self._offset + int(monotonic * 1e9)).to_msg()

    def _measure(self):
        best = math.inf
        for _ in range(5):
            before = time.monotonic_ns()
            ros = self._clock.now().nanoseconds
            after = time.monotonic_ns()
            if after - before < best:
                best, offset = after - before, ros - (before + after) // 2
            if best < _CLOSE * 1e9:
                break
        # Corrections of the clock are followed, the jitter of its measurement is not.
        if self._offset is None or abs(offset - self._offset) > max(best, _CLOSE * 1e9):
            self._offset = offset
