"""The ground: a level or sloping plane with steps and a rough surface, and its friction law."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, floor, isfinite, radians, sin, tan
from typing import Any

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.simulation.ground_kernel import LEVEL, SLOPE_X, SLOPE_Y, drawn, fill_heights, is_level, surface
from hexapod_dynamics.simulation.terrain import PATCH

LARGEST_SEED = 2**31 - 1
# Friction of a slippery patch; share of the patches that are slippery, share that are soft.
SLIPPERY, PATCHED = 0.25, 0.25

__all__ = ["LARGEST_SEED", "LEVEL", "SLOPE_X", "SLOPE_Y", "Ground", "is_level", "surface"]


@dataclass(frozen=True)
class Ground:
    """Height of the ground: the sloping plane, plus the rise of every step behind its place along x, plus the
    roughness.

    slope_x, slope_y: rise over run. steps: (x, rise) pairs [m], rise negative downward. ramp [m]: length over
    which a step rises smoothly, so that the ground has a normal everywhere. friction: Coulomb's coefficient. slope
    [deg]: a slope upward in the direction slope_yaw [deg] from x, instead of slope_x and slope_y. rough [m]:
    difference between the highest and the lowest point of a random surface, smooth between the corners of squares
    of `cell` [m], drawn with `seed`. edge [m]: width over which the height changes in the middle between two
    corners; around the corners it is level. 0: the height changes over the whole square. patches: squares of PATCH
    are slippery or soft (`patch`; MuJoCo only). law: "coulomb", or "viscous" for the law of Farghdani & Chhabra
    2025 with the coefficient of the robot (`Ground.viscous()`).
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
    edge: float = 0.0
    patches: bool = False
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
            ("edge", 0.0, self.cell, " m"),
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
        """Whether the friction is that of the paper."""
        return self.law == "viscous"

    def numbers(self) -> np.ndarray:
        """Return the ground as the array that `ground_kernel.surface` reads."""
        steps = [value for x, rise in self.steps for value in (x, rise, 0.5 * self.ramp)]
        top = 0.5 * self.rough + sum(max(0.0, rise) for _, rise in self.steps)
        edge = self.edge or self.cell
        return np.array([self.slope_x, self.slope_y, self.rough, self.seed, self.cell, top, 0.0, edge, *steps], float)

    def patch(self, x: float, y: float) -> str:
        """Return the kind of patch at (x, y) [m]: "slippery", "soft" or "" for neither."""
        if not self.patches:
            return ""
        value = drawn(floor(x / PATCH), floor(y / PATCH), int(self.seed))
        return "slippery" if value < PATCHED else "soft" if value < 2.0 * PATCHED else ""

    def height(self, x: float, y: float) -> float:
        """Return the height [m] of the ground at (x, y) [m]."""
        return surface(self.numbers(), float(x), float(y))[0]

    def heights(self, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
        """Return the heights (len(ys), len(xs)) [m] over a grid of xs and ys [m]."""
        out = np.empty((len(ys), len(xs)))
        fill_heights(self.numbers(), np.asarray(xs, float), np.asarray(ys, float), out)
        return out
