"""A gait on its own, without a robot."""

from hexapod_dynamics.gait import Gait

TICK = 0.02  # [s]


def steps(gait: Gait, count: int) -> None:
    """Let so many ticks pass."""
    for _ in range(count):
        gait.step(TICK)
