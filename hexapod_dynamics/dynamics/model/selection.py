"""A morphology of a model, and its memory."""

from __future__ import annotations

from hexapod_dynamics.dynamics.model_memory import ModelMemory
from hexapod_dynamics.robot import Morphology


class Selection:
    """A morphology of a model and its memory. given: the object that a caller passed, None for the whole robot."""

    __slots__ = ("given", "morphology", "memory", "size", "n", "mass", "links")

    def __init__(self, memory: ModelMemory, morphology: Morphology, given: Morphology | None) -> None:
        self.given, self.morphology = given, morphology
        self.n: int
        self.memory, self.n = memory.make(morphology)
        self.size = 6 + self.n
        self.mass: float | None = None  # [kg] total mass, None until it is needed
        self.links: tuple[str, ...] = ()  # names of the existing links, empty until they are needed
