"""The ground: a level or sloping plane with steps and a rough surface, and its friction law; grounds by name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import cos, floor, nan, radians, sin, tan
from typing import Any

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError, parse_number

LARGEST_SEED = 2**31 - 1
SLIPPERY = 0.25  # friction of a slippery patch
# Kind: unit of its number, smallest and largest value, default (None: a value must be given).
KINDS: dict[str, tuple[str, float, float, float | None]] = {
    "slope": ("degrees", 0.0, 45.0, None),
    "blocks": ("m", 0.001, 0.1, None),
    "steps": ("m", 0.001, 0.1, None),
    "stairs": ("m", 0.001, 0.1, 0.04),
    "gravel": ("m", 0.001, 0.06, 0.02),
}
# Direction in which a slope rises, seen by the robot at its start [deg].
DIRECTIONS = {"up": 0.0, "down": 180.0, "across": 90.0}
# Side of the squares of blocks, width over which the height changes between two [m].
BLOCK, EDGE = 0.1, 0.0125
ALLOWED = (
    "flat, slope:DEGREES (also slope:DEGREES:down, :across), blocks:METRES, steps:METRES, stairs, stairs:METRES, "
    "gravel, gravel:METRES, patches"
)


def number(default: float, low: float, high: float, unit: str = "") -> Any:
    """Return a field of `CheckedNumbers`: its default, smallest and largest value; a whole number if its default is."""
    return field(default=default, metadata={"range": (low, high, unit)})


@dataclass(frozen=True)
class CheckedNumbers:
    """A record whose fields of `number` are checked when it is made."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if not each.metadata:
                continue
            value, (low, high, unit) = getattr(self, each.name), each.metadata["range"]
            real, whole = isinstance(value, int | float | np.number), isinstance(each.default, int)
            wrong = ""
            if not real or isinstance(value, bool) or not low <= value <= high:
                wrong = f"allowed are numbers from {low} to {high} {unit}"
            elif whole and value != int(value):
                wrong = "a whole number is needed"
            if wrong:
                raise HexapodError(f"{type(self).__name__.lower()}: {each.name}={value!r} given, {wrong}")
            if whole:
                object.__setattr__(self, each.name, int(value))


@dataclass(frozen=True)
class Ground(CheckedNumbers):
    """Height of the ground: the sloping plane, plus the rise of every step behind its place along x, plus the
    roughness.

    slope_x, slope_y: rise over run. steps: (x, rise) pairs [m], rise negative downward. ramp [m]: length over
    which a step rises smoothly, so that the ground has a normal everywhere. friction: Coulomb's coefficient. slope
    [deg]: a slope upward in the direction slope_yaw [deg] from x, instead of slope_x and slope_y. rough [m]:
    difference between the highest and the lowest point of a random surface, smooth between the corners of squares
    of `cell` [m], drawn with `seed`. edge [m]: width over which the height changes in the middle between two
    corners; around the corners it is level. 0: the height changes over the whole square. patches: squares of 30 cm
    are slippery or soft (`patch`; MuJoCo only). law: "coulomb", or "viscous" for the law of Farghdani & Chhabra
    2025 with the coefficient of the robot (`Ground.viscous()`).
    """

    slope_x: float = 0.0
    slope_y: float = 0.0
    steps: tuple = ()
    ramp: float = 0.01
    friction: float = number(0.6, 0.0, 10.0)
    slope: float = number(0.0, -60.0, 60.0, "degrees")
    slope_yaw: float = number(0.0, -360.0, 360.0, "degrees")
    rough: float = number(0.0, 0.0, 0.1, "m")
    seed: int = number(0, 0, LARGEST_SEED)
    cell: float = number(0.05, 0.005, 10.0, "m")
    edge: float = number(0.0, 0.0, 10.0, "m")
    patches: bool = False
    law: str = "coulomb"

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = [self.slope_x, self.slope_y, self.ramp, *(value for step in self.steps for value in step)]
        if not np.isfinite(numbers).all() or any(len(step) != 2 for step in self.steps) or self.ramp <= 0.0:
            raise HexapodError(f"{self}: slopes and (x, rise) pairs must be finite, the ramp longer than 0 m")
        if self.edge > self.cell:
            raise HexapodError(f"ground: edge={self.edge} m given, at most the cell of {self.cell} m is allowed")
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

    def structs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the plane (1,) and the steps (k,) as the compiled core reads them; fields: core/world.h."""
        plane, rises = np.zeros(1, _core.PLANE), np.zeros(len(self.steps), _core.RISE)
        for name in ("slope_x", "slope_y", "rough", "seed", "cell"):
            plane[name] = getattr(self, name)
        plane["highest"] = 0.5 * self.rough + sum(max(0.0, rise) for _, rise in self.steps)
        plane["edge"] = self.edge or self.cell
        for k, (x, rise) in enumerate(self.steps):
            rises[k] = x, rise, 0.5 * self.ramp
        return plane, rises

    def patch(self, x: float, y: float) -> str:
        """Return the kind of patch at (x, y) [m]: "slippery", "soft" or "" for neither."""
        if not self.patches:
            return ""
        value = _core.drawn(floor(x / 0.3), floor(y / 0.3), self.seed)
        return "slippery" if value < 0.25 else "soft" if value < 0.5 else ""

    def height(self, x: float, y: float) -> float:
        """Return the height [m] of the ground at (x, y) [m]."""
        return self.surface(x, y)[0]

    def surface(self, x: float, y: float) -> tuple[float, float, float, float]:
        """Return the height [m] at (x, y) [m] and the upward unit normal, three numbers."""
        return _core.surface(*self.structs(), float(x), float(y))

    def heights(self, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
        """Return the heights (len(ys), len(xs)) [m] over a grid of xs and ys [m]."""
        return _core.heights(*self.structs(), *(np.ascontiguousarray(each, float) for each in (xs, ys)))


def parse_ground(text: str, seed: int) -> dict[str, Any]:
    """Return the arguments of a Ground for the text of the truth's `ground=`, except friction and seed.

    The robot starts at the origin and looks along x; ahead of it the ground is level up to where an obstacle begins.

    blocks: squares of 10 cm, each level, their heights uniform between the lowest and the highest, `METRES` apart.
    steps: up, down, up ... by this height, 1 m apart. stairs: three steps up and three down. gravel: round stones
    of 3 cm. patches: squares of 30 cm, a quarter slippery, a quarter soft (MuJoCo only). Raises HexapodError that
    names what is allowed.
    """
    kind, *rest = text.split(":")
    if kind in ("flat", "patches") and not rest:
        return {"patches": True} if kind == "patches" else {}
    if kind not in KINDS or len(rest) > (2 if kind == "slope" else 1):
        raise HexapodError(f"truth: ground={text} given, allowed are {ALLOWED}")
    value = _number(text, kind, rest[0] if rest else "")
    if kind == "slope":
        direction = rest[1] if len(rest) > 1 else "up"
        if direction not in DIRECTIONS:
            raise HexapodError(f"truth: ground={text} given, allowed directions are {', '.join(DIRECTIONS)}")
        return {"slope": value, "slope_yaw": DIRECTIONS[direction]}
    if kind == "blocks":
        return {"rough": value, "cell": BLOCK, "edge": EDGE}
    if kind == "gravel":
        return {"rough": value, "cell": 0.03}
    start = 0.7 + 0.1 * float(np.random.default_rng((5, seed)).uniform(-1.0, 1.0))
    if kind == "steps":
        return {"steps": tuple((start + k, value if k % 2 == 0 else -value) for k in range(6))}
    up = [(start + 0.25 * k, value) for k in range(3)]  # treads of 25 cm
    top = start + 1.25
    return {"steps": (*up, *((top + 0.25 * k, -value) for k in range(3)))}


def _number(text: str, kind: str, given: str) -> float:
    unit, low, high, default = KINDS[kind]
    if not given and default is not None:
        return default
    try:
        value = parse_number(given)
    except ValueError:
        value = nan
    if not low <= value <= high:
        raise HexapodError(
            f"truth: ground={text} given, allowed for {kind} are numbers from {low:g} to {high:g} {unit}"
        )
    return value
