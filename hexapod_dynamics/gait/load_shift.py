"""Shift of the body because of its load: the common centre of mass of robot and load stays where the plan has that
of the robot.

A load of mass m at c moves the common centre of mass of robot and load by m c / (M + m) in base_link; the body is
moved in the opposite direction over its feet, as far as the legs reach, and slowly, so that no step is disturbed.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.errors import HexapodError

MOST, SPEED, HEAVIEST = 0.02, 0.005, 20.0  # [m], [m/s], [kg]


class LoadShift:
    """weight [kg]: mass of the robot. shift (2,) [m]: present shift of the body along x and y of base_link;
    wanted: its aim.

    active: whether one of them is not 0.
    """

    def __init__(self, weight: float) -> None:
        self.weight, self.shift, self.wanted = weight, np.zeros(2), np.zeros(2)
        self.active = False

    def carry(self, mass: float, x_moment: float, y_moment: float) -> None:
        """Set what is carried: mass [kg], first moments m cx, m cy [kg m] in base_link.

        Raises HexapodError for numbers that are not finite or a mass that is negative or over HEAVIEST.
        """
        if not (math.isfinite(x_moment + y_moment) and 0.0 <= mass <= HEAVIEST):
            given = f"{mass} kg, {x_moment} {y_moment} kg m"
            raise HexapodError(f"payload {given}: finite numbers, a mass of 0 to {HEAVIEST} kg")
        away = np.array([x_moment, y_moment]) / -(self.weight + mass)
        size = math.hypot(*away)
        self.wanted[:] = away * min(1.0, MOST / size) if size > 0.0 else 0.0
        self._note_active()

    def advance(self, dt: float, room: float) -> None:
        """Advance by dt [s]; room [m]: how far the body can be moved within the reach of the legs."""
        x, y = self.wanted.tolist()
        size = math.hypot(x, y)
        scale = room / size if size > room else 1.0
        dx, dy = scale * x - self.shift.item(0), scale * y - self.shift.item(1)
        way = math.hypot(dx, dy)
        part = min(1.0, SPEED * dt / way) if way > 0.0 else 0.0
        self.shift[0] += part * dx
        self.shift[1] += part * dy
        self._note_active()

    def _note_active(self) -> None:
        self.active = bool(self.wanted.any() or self.shift.any())

    @property
    def size(self) -> float:
        """Length [m] of the present shift."""
        return math.hypot(*self.shift.tolist()) if self.active else 0.0

    def report(self) -> dict[str, float]:
        """Return diagnostics; empty if there is no load off the centre."""
        if not self.active:
            return {}
        return {
            "shift for the load, x [mm]": 1e3 * self.shift.item(0),
            "shift for the load, y [mm]": 1e3 * self.shift.item(1),
            "shift for the load, wanted [mm]": 1e3 * math.hypot(*self.wanted.tolist()),
        }
