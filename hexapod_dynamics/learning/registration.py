"""Registers the environments with Gymnasium; HexapodError with the remedy if Gymnasium is not installed."""

from __future__ import annotations

from hexapod_dynamics.errors import HexapodError

try:
    import gymnasium
except ImportError as error:
    raise HexapodError(
        "hexapod_dynamics.learning needs the Python package gymnasium, which is not installed here: "
        "pip install 'hexapod_dynamics[learning]' (or pip install 'gymnasium>=1.0')"
    ) from error

NAMES = {"hexapod_dynamics/Walk-v0": False, "hexapod_dynamics/Damaged-v0": True}  # whether the robot is damaged
EPISODE = 500  # steps: 10 s


def register_environments() -> None:
    """Register the environments, each with its vectorised form; environments that are registered already stay."""
    for name, damaged in NAMES.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="hexapod_dynamics.learning.environment:WalkEnv",
                vector_entry_point="hexapod_dynamics.learning.vector:WalkVectorEnv",
                max_episode_steps=EPISODE,
                kwargs={"damaged": damaged},
            )
