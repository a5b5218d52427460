"""A gait on its own, without a robot."""

from hexapod_dynamics.gait import Gait

TICK = 0.02  # [s]


def steps(gait: Gait, count: int, attitude: tuple[float, float, float] | None = None) -> None:
    """Let so many ticks pass, with a measured attitude (roll, pitch, yaw) [rad] if one is given."""
    for _ in range(count):
        if attitude is not None:
            gait.sense(*attitude)
        gait.step(TICK)
