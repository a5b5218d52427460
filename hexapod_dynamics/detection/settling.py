"""Which slices after a change of the declared morphology are compared with the model: not those in which the robot may
sit down, move its feet in the air and stand up, or has fallen and the model has not.
"""

from __future__ import annotations

import math

import numpy as np

# [s] after a change in which only the bus is evaluated, at least and at most. While the model lies on its body,
# contacts are not the robot's.
_LEAST, _LONGEST = 1.0, 8.0
_FELL = 3.0  # [s] after a change, within which the robot may fall by it
_OTHERWISE = 0.07  # [rad] of roll or pitch between robot and model, from which both do not stand on the same feet
_TIPPED = 0.15  # [rad] of roll or pitch from which the robot leans on its body or on the stump of a leg
_ON_FEET = 0.9  # share of a slice in which a robot that walks stands on its feet


class Settling:
    """Stores when the morphology changed; all times are seconds on one clock; duration [s]: of a slice."""

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self.clear()

    def clear(self) -> None:
        """Compare all slices from now on."""
        self._changed = self._until = self._went_on = -math.inf

    def go_on(self, time: float) -> None:
        """Note that the model has fallen as the robot has: all slices are compared, but those after `time` [s] in which
        the model does not stand on its feet.
        """
        self.clear()
        self._went_on = time

    def change(self, time: float) -> None:
        """Note that the morphology changes at `time`, while the model stays upright where the robot may fall."""
        self._changed, self._until = time, time + _LEAST

    def settled(self, time: float) -> bool:
        """True if joints, sag and tilt are evaluated."""
        return time >= self._until

    def skips(self, time: float, on_feet: float, lean: float, apart: np.ndarray) -> bool:
        """Whether the slice that ends at `time` is not compared.

        on_feet: share of it in which the model stands on its feet; lean: larger one of the robot's |roll| and |pitch|
        [rad]; apart (2,): measured less modelled roll and pitch [rad], NaN: not measured.
        """
        if self._went_on < time < self._went_on + _LONGEST and on_feet < _ON_FEET:
            self._until = time + self._duration
            return True
        if time > max(self._until, self._changed + _LONGEST):
            return False
        down = on_feet < _ON_FEET
        # Who falls onto the place of lost legs leans on its body, or lies otherwise than the model, which did not
        # fall. A tilt after the robot had settled is new evidence.
        if time < max(self._changed + _FELL, self._until + self._duration):
            down = down or lean > _TIPPED or np.nan_to_num(np.abs(apart)).max() > _OTHERWISE
        if down and time < self._changed + _LONGEST:
            self._until = time + self._duration
        return bool(down or time < self._until)
