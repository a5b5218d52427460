"""Decides which slices after a change of the declared morphology are compared with the model: slices are excluded
in which the robot may sit down, move its feet in the air and stand up, or has fallen while the model has not.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits


class Settling:
    """Stores when the morphology changed; all times are seconds on one clock; duration [s]: of a slice."""

    def __init__(self, duration: float, limits: DetectorLimits = LIMITS) -> None:
        self._duration, self._limits = duration, limits
        self.clear()

    def clear(self) -> None:
        """Compare all slices from now on."""
        self._changed = self._until = self._went_on = -math.inf

    def go_on(self, time: float) -> None:
        """Note that the model has fallen like the robot: all slices are compared, except those after `time` [s] in
        which the model does not stand on its feet.
        """
        self.clear()
        self._went_on = time

    def change(self, time: float) -> None:
        """Note that the morphology changes at `time`, and that the model stays upright although the robot may
        fall.
        """
        self._changed, self._until = time, time + self._limits.settling

    def settled(self, time: float) -> bool:
        """True if joints, sag and tilt are evaluated."""
        return time >= self._until

    def skips(self, time: float, on_feet: float, lean: float, apart: np.ndarray) -> bool:
        """Whether the slice that ends at `time` is not compared.

        on_feet: share of the slice in which the model stands on its feet; lean: larger of the robot's |roll| and
        |pitch| [rad]; apart (2,): measured less modelled roll and pitch [rad], NaN: not measured.
        """
        limits = self._limits
        down = on_feet < limits.stands
        if self._went_on < time < self._went_on + limits.longest_settling and down:
            self._until = time + self._duration
            return True
        if time > max(self._until, self._changed + limits.longest_settling):
            return False
        # A robot that falls onto the side of the lost legs leans on its body, or lies differently from the model, which
        # did not fall. A tilt after the robot had settled is new evidence.
        if time < max(self._changed + limits.may_fall, self._until + self._duration):
            down = down or lean > limits.tipped or np.nan_to_num(np.abs(apart)).max() > limits.lies_otherwise
        if down and time < self._changed + limits.longest_settling:
            self._until = time + self._duration
        return bool(down or time < self._until)
