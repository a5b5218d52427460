"""The ground: a level or sloping plane with steps and a rough surface, and its friction law."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, floor, isfinite, radians, sin, sqrt, tan
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.errors import HexapodError

# Layout of the numbers: slopes along x and y, roughness, its seed, its cell, the highest point over the sloping plane,
# the plane's height at the origin; then of each step: where along x, rise, half width of its ramp.
SLOPE_X, SLOPE_Y, ROUGH, SEED, CELL, HIGHEST, LEVEL, STEPS, STEP = 0, 1, 2, 3, 4, 5, 6, 7, 3
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Ground:
    """Height of the ground: the sloping plane, plus every step's rise beyond its place along x, plus its roughness.

    slope_x, slope_y: rise over run. steps: (x, rise) pairs [m], rise negative downward. ramp [m]: run over which a step
    rises, smoothly, so that the ground has a normal everywhere. friction: Coulomb's coefficient. slope [deg]: a slope
    upward in the direction slope_yaw [deg] from x, instead of slope_x and slope_y. rough [m]: difference between the
    highest and the lowest point of a random surface, smooth between the corners of squares of `cell` [m], drawn with
    `seed`. law: "coulomb", or "viscous" for the law of Farghdani & Chhabra 2025, whose coefficient is the robot's
    (`Ground.viscous()`).
    """

    slope_x: float = 0.0
    slope_y: float = 0.0
    steps: tuple = ()
    ramp: float = 0.01
    friction: float = 0.6
    slope: float = 0.0
    slope_yaw: float = 0.0
    rough: float = 0.0
    seed: int = 0
    cell: float = 0.05
    law: str = "coulomb"

    def __post_init__(self) -> None:
        numbers = [self.slope_x, self.slope_y, self.ramp, *(value for step in self.steps for value in step)]
        if not np.isfinite(numbers).all() or any(len(step) != 2 for step in self.steps) or self.ramp <= 0.0:
            raise HexapodError(f"{self}: slopes and (x, rise) pairs must be finite, the ramp longer than 0 m")
        for name, low, high, unit in (
            ("friction", 0.0, 10.0, ""),
            ("slope", -60.0, 60.0, " degrees"),
            ("slope_yaw", -360.0, 360.0, " degrees"),
            ("rough", 0.0, 0.1, " m"),
            ("cell", 0.005, 10.0, " m"),
            ("seed", 0, LARGEST_SEED, ""),
        ):
            value = getattr(self, name)
            if not (isfinite(value) and low <= value <= high):
                raise HexapodError(f"ground: {name} {value!r} given, allowed are numbers from {low} to {high}{unit}")
        if self.seed != int(self.seed):
            raise HexapodError(f"ground: seed {self.seed!r} given, a whole number is needed")
        if self.law not in ("coulomb", "viscous"):
            raise HexapodError(f"ground: law {self.law!r} given, allowed are 'coulomb' and 'viscous'")
        if self.slope != 0.0:
            if self.slope_x != 0.0 or self.slope_y != 0.0:
                raise HexapodError("ground: give either slope (degrees) or slope_x and slope_y (rise over run)")
            rise = tan(radians(self.slope))
            object.__setattr__(self, "slope_x", rise * cos(radians(self.slope_yaw)))
            object.__setattr__(self, "slope_y", rise * sin(radians(self.slope_yaw)))
            object.__setattr__(self, "slope", 0.0)
            object.__setattr__(self, "slope_yaw", 0.0)

    @classmethod
    def viscous(cls, **options: Any) -> Ground:
        """Return a ground with the paper's viscous friction; options: the other arguments of Ground."""
        return cls(law="viscous", **options)

    @property
    def is_viscous(self) -> bool:
        """Whether friction is the paper's."""
        return self.law == "viscous"

    def numbers(self) -> np.ndarray:
        """Return the ground as the array that `surface` reads."""
        steps = [value for x, rise in self.steps for value in (x, rise, 0.5 * self.ramp)]
        top = 0.5 * self.rough + sum(max(0.0, rise) for _, rise in self.steps)
        return np.array([self.slope_x, self.slope_y, self.rough, self.seed, self.cell, top, 0.0, *steps], float)

    def height(self, x: float, y: float) -> float:
        """Return the height [m] of the ground at (x, y) [m]."""
        return surface(self.numbers(), float(x), float(y))[0]

    def heights(self, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
        """Return the heights (len(ys), len(xs)) [m] over a grid of xs and ys [m]."""
        out = np.empty((len(ys), len(xs)))
        fill_heights(self.numbers(), np.asarray(xs, float), np.asarray(ys, float), out)
        return out


@kernel
def _corner(i, j, seed):
    """Return a pseudo-random number from -0.5 to 0.5 for the corner (i, j) of a lattice and a seed."""
    x = (i * 374761393 + j * 668265263 + seed * 1274126177) & 0xFFFFFFFF
    x = ((x ^ (x >> 13)) * 1274126177) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 668265263) & 0xFFFFFFFF
    return float(x ^ (x >> 15)) / 4294967296.0 - 0.5


@kernel
def _roughness(ground, x, y):
    """Return the height [m] of the rough surface over the plane, and its slopes along x and y."""
    cell, seed = ground[CELL], int(ground[SEED])
    u, v = x / cell, y / cell
    i, j = int(floor(u)), int(floor(v))
    u, v = u - i, v - j
    # Quintic between the corners: curvature is continuous.
    su, sv = u * u * u * (u * (u * 6.0 - 15.0) + 10.0), v * v * v * (v * (v * 6.0 - 15.0) + 10.0)
    du, dv = 30.0 * u * u * (u - 1.0) * (u - 1.0), 30.0 * v * v * (v - 1.0) * (v - 1.0)
    a, b = _corner(i, j, seed), _corner(i + 1, j, seed)
    c, d = _corner(i, j + 1, seed), _corner(i + 1, j + 1, seed)
    twist = a - b - c + d
    scale = ground[ROUGH]
    height = a + (b - a) * su + (c - a) * sv + twist * su * sv
    return (
        scale * height,
        scale / cell * du * (b - a + twist * sv),
        scale / cell * dv * (c - a + twist * su),
    )


@kernel
def surface(ground, x, y):
    """Return the height [m] at (x, y) and the upward unit normal (three numbers)."""
    height = ground[LEVEL] + ground[SLOPE_X] * x + ground[SLOPE_Y] * y
    slope, across = ground[SLOPE_X], ground[SLOPE_Y]
    if ground[ROUGH] > 0.0:
        rise, along_x, along_y = _roughness(ground, x, y)
        height += rise
        slope += along_x
        across += along_y
    for k in range(STEPS, ground.size, STEP):
        # Smoothstep: flat at both ends.
        u = min(1.0, max(-1.0, (x - ground[k]) / ground[k + 2]))
        height += ground[k + 1] * (0.5 + u * (0.75 - 0.25 * u * u))
        slope += ground[k + 1] * 0.75 * (1.0 - u * u) / ground[k + 2]
    nz = 1.0 / sqrt(1.0 + slope * slope + across * across)
    return height, -slope * nz, -across * nz, nz


@kernel
def highest(ground, x, y):
    """Return a height [m] that the ground does not exceed at (x, y)."""
    return ground[LEVEL] + ground[SLOPE_X] * x + ground[SLOPE_Y] * y + ground[HIGHEST]


@kernel
def fill_heights(ground, xs, ys, out):
    """Write the heights over a grid to out (len(ys), len(xs)) [m]."""
    for r in range(ys.size):
        for c in range(xs.size):
            out[r, c] = surface(ground, xs[c], ys[r])[0]


@kernel
def is_level(ground):
    """Tell whether the ground is the plane z = 0."""
    plane = ground.size == STEPS and ground[ROUGH] == 0.0
    return plane and ground[SLOPE_X] == 0.0 and ground[SLOPE_Y] == 0.0 and ground[LEVEL] == 0.0
