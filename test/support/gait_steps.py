"""A gait on its own, without a robot."""

import numpy as np

from hexapod_dynamics.gait import Gait

TICK = 0.02  # [s]


def steps(gait: Gait, count: int, attitude: tuple[float, float, float] | None = None) -> None:
    """Let so many ticks pass, with a measured attitude (roll, pitch, yaw) [rad] if one is given."""
    for _ in range(count):
        if attitude is not None:
            gait.sense(*attitude)
        gait.step(TICK)


def largest_step(gait: Gait, count: int, joints: list[int] | slice, doing: set[str]) -> float:
    """Return the largest change [rad] of set-points of these joints from tick to tick, in these actions of the gait."""
    largest = 0.0
    for _ in range(count):
        before, does = gait.position.copy(), gait.doing
        gait.step(TICK)
        if does in doing:
            largest = max(largest, float(np.abs(gait.position - before)[joints].max()))
    return largest
