"""The one conversion of IMU samples for all nodes: only what is finite, plausible and given gets through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.onboard.faults import Faults
from hexapod_dynamics.se3 import rotation_from_quaternion

FASTEST = math.radians(2000.0)  # [rad/s] a larger value shows that the driver does not publish rad/s
STRONGEST = 16.5 * 9.80665  # [m/s^2]
# Time constant [s] of the mean magnitudes by which other units are recognised, and their plausible ranges: a robot
# measures gravity, and does not spin.
MEAN_OVER = 2.0
MEAN_FORCE = 5.0, 15.0  # [m/s^2]
MEAN_RATE = 8.0  # [rad/s]
LONGEST_STEP = 0.1  # [s] between two samples, for the means
NOT_GIVEN = -1.0  # first variance of a quantity that the IMU does not measure (REP-145)

Vector = tuple[float, float, float]


class ImuReading(NamedTuple):
    """What one sample tells, in base_link axes; None for what is not given, not finite or not plausible.

    rotation: (3, 3) world <- base_link. force: specific force (3,) [m/s^2]. rate: angular velocity (3,) [rad/s].
    chip_force, chip_rate: the same in the axes of the chip.
    """

    rotation: np.ndarray | None
    force: Vector | None
    rate: Vector | None
    chip_force: Vector | None
    chip_rate: Vector | None


class ImuInput:
    """Checks the samples of one IMU; faults are added to `faults` under the name of the topic.

    Args:
        chip: rotation (3, 3) base_link <- chip (`robot.imu.rotation`).
        faults: where they are counted and named.
        topic: its name in the messages.

    """

    def __init__(self, chip: np.ndarray, faults: Faults, topic: str = "imu/data") -> None:
        self._chip = np.asarray(chip, float)
        self._axes = self._chip.tolist()
        self._faults, self._topic = faults, topic
        self._time: float | None = None
        self._mean_force, self._mean_rate = sum(MEAN_FORCE) / 2.0, 0.0

    def read(
        self,
        now: float,
        orientation: Sequence[float] | None,
        acceleration: Sequence[float] | None,
        angular_velocity: Sequence[float] | None,
    ) -> ImuReading:
        """Return what a sample at the time `now` [s] tells.

        Args:
            now: on a monotonic clock [s].
            orientation: quaternion (x, y, z, w), world <- chip; None if the IMU gives none.
            acceleration: specific force (3,) [m/s^2] in chip axes; None if it is not measured.
            angular_velocity: (3,) [rad/s] in chip axes; None if it is not measured.

        """
        rotation = None
        if orientation is not None:
            try:
                rotation = rotation_from_quaternion(orientation) @ self._chip.T
            except HexapodError as error:
                self._refuse(now, "orientation", str(error))
        force = self._checked(now, "linear_acceleration", acceleration, STRONGEST, "m/s^2")
        rate = self._checked(now, "angular_velocity", angular_velocity, FASTEST, "rad/s")
        force, rate = self._of_these_units(now, force, rate)
        return ImuReading(rotation, self._turned(force), self._turned(rate), force, rate)

    def _checked(self, now: float, name: str, values: Sequence[float] | None, most: float, unit: str) -> Vector | None:
        if values is None:
            return None
        x, y, z = map(float, values)
        largest = max(abs(x), abs(y), abs(z))
        if not math.isfinite(x + y + z):
            self._refuse(now, name, "has a value that is not finite")
        elif largest > most:
            self._refuse(now, name, f"is {largest:.3g} {unit}, more than {most:.3g}: REP-145 wants {unit}")
        else:
            return x, y, z
        return None

    def _refuse(self, now: float, name: str, what: str) -> None:
        self._faults.add(f"{self._topic} {name}", f"{self._topic}: {name} {what}; it is not used", now)

    def _of_these_units(
        self, now: float, force: Vector | None, rate: Vector | None
    ) -> tuple[Vector | None, Vector | None]:
        """Leave out quantities whose mean magnitude shows other units, or that gravity has been subtracted."""
        step = 0.0 if self._time is None else min(max(now - self._time, 0.0), LONGEST_STEP)
        self._time = now
        share = step / MEAN_OVER
        if force is not None:
            self._mean_force += share * (math.hypot(*force) - self._mean_force)
            if not MEAN_FORCE[0] <= self._mean_force <= MEAN_FORCE[1]:
                mean = f"is {self._mean_force:.2g} m/s^2 in the mean"
                self._refuse(now, "linear_acceleration", f"{mean}: REP-145 wants m/s^2 with gravity, 9.8 at rest")
                force = None
        if rate is not None:
            self._mean_rate += share * (math.hypot(*rate) - self._mean_rate)
            if self._mean_rate > MEAN_RATE:
                mean = f"is {self._mean_rate:.2g} rad/s in the mean"
                self._refuse(now, "angular_velocity", f"{mean}: REP-145 wants rad/s")
                rate = None
        return force, rate

    def _turned(self, vector: Vector | None) -> Vector | None:
        if vector is None:
            return None
        a, b, c = vector
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self._axes
        return xx * a + xy * b + xz * c, yx * a + yy * b + yz * c, zx * a + zy * b + zz * c
