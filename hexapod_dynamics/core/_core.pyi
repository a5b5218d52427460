"""Types of the compiled core."""

from typing import Any

import numpy as np

SERVO: np.dtype[Any]

def widest() -> int:
    """Return the number of lanes of this processor's vector registers that the core uses: 2, 4 or 8."""

class Model:
    """The whole-body model of a robot."""

    def __init__(self, robot: Any, whole: Any, lanes: int = 0, generic: bool = False) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class World:
    """The arrays of a simulation."""

    def __init__(self, world: Any, state: Any, joints: int, legs: int) -> None: ...

def take_steps(model: Model, world: World, h: float, steps: int, morphology: Any) -> None:
    """Advance a simulated robot by steps of h seconds."""
