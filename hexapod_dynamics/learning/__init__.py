"""Environments of Gymnasium for learning to walk: `hexapod_dynamics/Walk-v0` and `hexapod_dynamics/Damaged-v0`.

Importing this package registers them; HexapodError with the remedy without gymnasium.
"""

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

for _name, _damaged in NAMES.items():
    if _name not in gymnasium.registry:
        gymnasium.register(
            _name,
            entry_point=f"{__name__}.environments:WalkEnv",
            max_episode_steps=EPISODE,
            order_enforce=False,  # WalkEnv itself refuses a step before the first reset, and wrong actions
            disable_env_checker=True,
            kwargs={"damaged": _damaged},
        )
