"""Shift of the body because of its load: the common centre of mass of robot and load stays where the plan has that
of the robot.

A load of mass m at c moves the common centre of mass of robot and load by m c / (M + m) in base_link; the body is
moved in the opposite direction over its feet, as far as the legs reach, and slowly, so that no step is disturbed.

Small sway of the body over its feet while a load is weighed.

A walk on level ground repeats every joint angle in each cycle, and a servo measures it in counts: the rounding error of
a reading is the same in each cycle, so that a mean over many cycles does not reduce it. A sway of some counts, with
periods that do not agree with that of the steps, changes the rounding errors from cycle to cycle.
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

    def set_payload(self, mass: float, x_moment: float, y_moment: float) -> None:
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


PERIODS = 3.54, 2.24, 2.7  # [s] of the sway along x, y, z of base_link
SHARES = 0.7, 0.7, 1.0  # of the size, along x, y, z
REACH = 2.0  # room [m] for a shift of the body that a sway of 1 m takes: upward it stretches the legs, too


class WeighingSway:
    """offset (3,) [m]: present sway of the body along x, y, z of base_link; size [m]: of the present sway."""

    def __init__(self) -> None:
        self.offset, self.size, self._time = np.zeros(3), 0.0, 0.0

    def advance(self, dt: float, size: float, room: float) -> None:
        """Advance by dt [s]; size [m]: amplitude that is wanted, 0: none; room [m]: for a shift of the body within
        the reach of the legs, which limits the amplitude.
        """
        self._time += dt
        self.size = max(0.0, min(size, room / REACH))
        turns = [2.0 * math.pi * self._time / period for period in PERIODS]
        self.offset[:] = [self.size * share * math.sin(turn) for share, turn in zip(SHARES, turns, strict=True)]

    @property
    def active(self) -> bool:
        """Whether the body is off its place."""
        return self.size > 0.0
