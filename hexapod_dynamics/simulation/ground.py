"""The ground: a plane, perhaps sloping, with steps across it."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from hexapod_dynamics.dynamics.kernel_cache import kernel
from hexapod_dynamics.errors import HexapodError

# Layout of the numbers: slopes along x and y, then of each step: where along x, rise, half width of its ramp.
SLOPE_X, SLOPE_Y, STEPS, STEP = 0, 1, 2, 3


@dataclass(frozen=True)
class Ground:
    """Height of the ground: slope_x x + slope_y y, plus every step's rise beyond its place along x.

    slope_x, slope_y: rise over run. steps: (x, rise) pairs [m], rise negative downward. ramp [m]: run over which a step
    rises, smoothly, so that the ground has a normal everywhere.
    """

    slope_x: float = 0.0
    slope_y: float = 0.0
    steps: tuple = ()
    ramp: float = 0.01

    def __post_init__(self):
        numbers = [self.slope_x, self.slope_y, self.ramp, *(value for step in self.steps for value in step)]
        if not np.isfinite(numbers).all() or any(len(step) != 2 for step in self.steps) or self.ramp <= 0.0:
            raise HexapodError(f"{self}: slopes and (x, rise) pairs must be finite, the ramp longer than 0 m")

    def numbers(self):
        """Return the ground as the array that `surface` reads."""
        steps = [value for x, rise in self.steps for value in (x, rise, 0.5 * self.ramp)]
        return np.array([self.slope_x, self.slope_y, *steps], float)

    def height(self, x, y):
        """Return the height [m] of the ground at (x, y) [m]."""
        return surface(self.numbers(), float(x), float(y))[0]


@kernel
def surface(ground, x, y):
    """Return the height [m] at (x, y) and the upward unit normal (three numbers)."""
    height = ground[SLOPE_X] * x + ground[SLOPE_Y] * y
    slope = ground[SLOPE_X]
    for k in range(STEPS, ground.size, STEP):
        # Smoothstep: flat at both ends.
        u = min(1.0, max(-1.0, (x - ground[k]) / ground[k + 2]))
        height += ground[k + 1] * (0.5 + u * (0.75 - 0.25 * u * u))
        slope += ground[k + 1] * 0.75 * (1.0 - u * u) / ground[k + 2]
    nz = 1.0 / sqrt(1.0 + slope * slope + ground[SLOPE_Y] * ground[SLOPE_Y])
    return height, -slope * nz, -ground[SLOPE_Y] * nz, nz


@kernel
def is_level(ground):
    """Tell whether the ground is the plane z = 0."""
    return ground.size == STEPS and ground[SLOPE_X] == 0.0 and ground[SLOPE_Y] == 0.0
