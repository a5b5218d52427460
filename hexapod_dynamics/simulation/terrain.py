"""Grounds by name, for `ground=` of the truth: slopes, blocks, steps, stairs, gravel and patches.

The robot starts at the origin and looks along x. Ahead of it the ground is level up to where an obstacle begins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hexapod_dynamics.errors import HexapodError

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
# Side of the squares of blocks, width over which the height changes between two; size of the stones of gravel; side of
# the squares of patches [m].
BLOCK, EDGE, STONE, PATCH = 0.1, 0.0125, 0.03, 0.3
# Place of the first step, its random variation by the seed, distance between steps up and down, depth of the treads of
# stairs [m].
AHEAD, SPREAD, BETWEEN, TREAD = 0.7, 0.1, 1.0, 0.25
STEPS, STAIRS = 6, 3
ALLOWED = (
    "flat, slope:DEGREES (also slope:DEGREES:down, :across), blocks:METRES, steps:METRES, stairs, stairs:METRES, "
    "gravel, gravel:METRES, patches"
)


def ground_values(text: str, seed: int) -> dict[str, Any]:
    """Return the arguments of a Ground for the text of the truth's `ground=`, except friction and seed.

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
        return {"rough": value, "cell": STONE}
    start = AHEAD + SPREAD * float(np.random.default_rng((5, seed)).uniform(-1.0, 1.0))
    if kind == "steps":
        return {"steps": tuple((start + k * BETWEEN, value if k % 2 == 0 else -value) for k in range(STEPS))}
    up = [(start + k * TREAD, value) for k in range(STAIRS)]
    top = start + STAIRS * TREAD + 0.5 * BETWEEN
    return {"steps": (*up, *((top + k * TREAD, -value) for k in range(STAIRS)))}


def _number(text: str, kind: str, given: str) -> float:
    unit, low, high, default = KINDS[kind]
    if not given and default is not None:
        return default
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise HexapodError(
            f"truth: ground={text} given, allowed for {kind} are numbers from {low:g} to {high:g} {unit}"
        )
    return value
