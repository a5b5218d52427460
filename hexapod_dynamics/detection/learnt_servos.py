"""Learns properties of this robot's servos in its first seconds of walking, while the robot is assumed to be
intact.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.detection.servo_identification import ServoIdentification


class LearntServos:
    """Lag and dead zone beyond the model's, identified twice and then kept; duration [s]: of a time window.

    lag [s], zone [rad] (half width): as identified so far. walked [s]: how long the robot has walked.
    """

    def __init__(self, limits: DetectorLimits, joints: int, duration: float) -> None:
        self._limits, self._duration = limits, duration
        self._identification = ServoIdentification(joints, limits)
        self.lag = self.zone = self.walked = 0.0
        self._times = [t for t in (limits.identify_first, limits.identify_again) if limits.identify_first > 0.0]
        self._started = 0  # windows learnt at the start

    @property
    def identified(self) -> bool:
        """Whether lag and zone are final."""
        return not self._times

    def learns_start(self, deviation: float) -> bool:
        """Whether a time window is learnt in spite of any deviation, because it is one of the first, or of the first
        after a change of lag and zone: what was learnt before is of other servos.
        """
        self._started += 1
        return self._started <= self._limits.start_windows and deviation < self._limits.start_deviation

    def measure(self, readings: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> bool:
        """Add the readings of a time window (`MeasurementWindow.readings`); True: lag and zone have changed."""
        limits = self._limits
        if self.identified or not len(readings[0]):
            return False
        if np.mean(np.abs(readings[2]) > limits.identify_rate) < limits.identify_moving:
            return False
        self._identification.measure(*readings)
        self.walked += self._duration
        if self.walked < self._times[0]:
            return False
        self._times.pop(0)
        lag, zone = self._identification.identify_servo_lag()
        self._identification.restart()
        if abs(lag) < self._limits.least_lag and abs(zone) < self._limits.least_zone:
            return False
        self.lag = float(np.clip(self.lag + lag, -self._limits.longest_lag, self._limits.longest_lag))
        self.zone = float(np.clip(self.zone + zone, 0.0, self._limits.widest_zone))
        self._started = min(self._started, limits.start_windows - limits.relearnt_windows)
        return True
