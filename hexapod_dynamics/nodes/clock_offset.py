"""ROS stamps of moments known by the monotonic clock, in order even when the process is interrupted in between."""

import math
import time

from rclpy.time import Time

_REFRESH = 1.0  # [s] the system clock may be corrected meanwhile
_STEP = 50e6  # [ns] the system clock was set: measured again at once
_CLOSE = 100e-6  # [s] two readings this close tell the offset well enough


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
        # A correction of the clock is followed, the jitter of measuring it is not.
        if self._offset is None or abs(offset - self._offset) > max(best, _CLOSE * 1e9):
            self._offset = offset
