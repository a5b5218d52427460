"""Detects a fall from the attitude and the specific force measured by the IMU."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEVEL = 0.0, 0.0, 1.0
# Cosines of the tilts of a fallen and of an upright robot; a walk with missing legs stays below 0.4 rad.
FALLEN, UPRIGHT = math.cos(1.05), math.cos(0.45)
# Time [s] for which the robot must be upright until the fall is over; without IMU data, after which nothing is known.
SETTLE, GAP = 1.0, 0.5


class FallDetector:
    """Reports a fall when the body is tilted beyond FALLEN for 0.15 s, by one of two measurements.

    The tilt is measured against the slope of the ground that the gait has learnt. A tilt against gravity beyond
    FALLEN is a fall on every slope, and a tilt against gravity within UPRIGHT is upright, because the robot may
    have been carried to other ground.

    The attitude gives the tilt without delay, but with the errors of the gyroscope; the low-pass filtered specific
    force gives the direction of gravity whenever its magnitude is near gravity. One measurement is enough for a
    fall. The robot is upright again when both are within UPRIGHT for SETTLE seconds, so that a robot that is
    being turned over by hand is not upright yet. gravity [m/s^2]: that of the robot's place.
    """

    def __init__(self, gravity: float = 9.81) -> None:
        self._gravity = gravity
        self._force = 0.0, 0.0, 0.0
        self._force_time: float | None = None
        self._time: float | None = None
        self._tilted_since: float | None = None
        self._upright_since: float | None = None
        self.fallen = False
        self.tilt = 0.0  # [rad] tilt against the slope, the larger of the two measurements

    @property
    def upright(self) -> bool:
        """Whether the robot has been upright for SETTLE seconds, up to the last sample."""
        if self._time is None or self._upright_since is None:
            return False
        return self._time - self._upright_since >= SETTLE

    def update(
        self,
        time: float,
        rotation: np.ndarray | None,
        specific_force: Sequence[float] | np.ndarray | None,
        level: Sequence[float] = LEVEL,
    ) -> bool:
        """Process a sample; return whether the robot has fallen.

        Args:
            time: of the sample, on a monotonic clock [s]; a sample that is not later than the last one that told
                something is ignored.
            rotation: (3, 3) world <- base_link, None if the attitude is not known.
            specific_force: (3,) in base_link axes [m/s^2], what an accelerometer measures: gravity along +z at rest;
                None if it is not known. A value that is not finite counts as not known, and is never kept.
            level: (3,) unit vector in base_link axes, upward direction of a robot that stands upright
                (`Gait.ground_normal`).

        """
        if self._time is not None and time <= self._time:
            return self.fallen
        x, y, z = self._smooth(time, specific_force)
        # The upward direction against gravity and slope: the less upright of the two measurements.
        (lx, ly, lz), gravity, slope = level, math.inf, math.inf
        if rotation is not None:
            ux, uy, uz = rotation[2].tolist()
            gravity, slope = uz, ux * lx + uy * ly + uz * lz
        size = math.sqrt(x * x + y * y + z * z)
        informative = 0.5 * self._gravity < size < 1.5 * self._gravity
        known = math.isfinite(gravity + slope)
        if informative and (known or rotation is None):
            gravity, slope = min(gravity, z / size), min(slope, (x * lx + y * ly + z * lz) / size)
            known = math.isfinite(gravity + slope)
        if not known:
            self._upright_since = None
            return self.fallen
        if self._time is None or time - self._time > GAP:
            self._tilted_since = self._upright_since = None
        self._time = time
        self.tilt = math.acos(max(-1.0, min(1.0, slope)))
        self._tilted_since = self._since(self._tilted_since, min(gravity, slope) < FALLEN)
        self._upright_since = self._since(self._upright_since, informative and max(gravity, slope) > UPRIGHT)
        if self._tilted_since is not None and time - self._tilted_since >= 0.15:
            self.fallen = True
        elif self.upright:
            self.fallen = False
        return self.fallen

    def _smooth(self, time: float, specific_force: Sequence[float] | np.ndarray | None) -> tuple[float, float, float]:
        """Return the low-pass filtered specific force; zero, which tells nothing, without a recent measurement."""
        before = self._force_time
        recent = before is not None and time - before <= GAP
        if specific_force is None or not math.isfinite(sum(map(float, specific_force))):
            return self._force if recent else (0.0, 0.0, 0.0)
        fx, fy, fz = map(float, specific_force)
        if before is not None and recent:
            share, (x, y, z) = 1.0 - math.exp(-(time - before) / 0.1), self._force
            fx, fy, fz = x + share * (fx - x), y + share * (fy - y), z + share * (fz - z)
        self._force_time, self._force = time, (fx, fy, fz)
        return self._force

    def _since(self, before: float | None, holds: bool) -> float | None:
        if not holds:
            return None
        return self._time if before is None else before
