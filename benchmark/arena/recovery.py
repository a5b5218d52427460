"""The interface of the arena: what keeps a broken robot walking. See docs/learning.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot

SPEED = 0.077  # [m/s] that is commanded


@dataclass
class Readings:
    """What the robot measures.

    time [s]. joints (n,) [rad]: NaN where no servo was read in this tick (the bus reads two a tick). silent (n,) bool:
    servos that do not answer. rotation (3, 3): the IMU's attitude, base_link in a level frame whose yaw drifts.
    position (2,) [m]: from a motion-capture system; who uses it sets `Recovery.needs_position`, and the table says so.
    damage: what is broken, in the track "told" from the moment it breaks; else None.
    """

    time: float
    joints: np.ndarray
    silent: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    damage: Morphology | None = None


@dataclass
class Recovery(ABC):
    """A method: gets readings, gives set-points. `name` is its row in the table.

    trials: how many gaits it has tried on the broken robot so far. belief: the damage that it assumes; the servos'
    driver and the feed-forward use it; None: whole.
    """

    name: str = ""
    needs_position: bool = False
    trials: int = field(default=0, init=False)
    belief: Morphology | None = field(default=None, init=False)

    @abstractmethod
    def reset(self, robot: Robot) -> np.ndarray:
        """Begin a walk of a whole Robot; return the joints (n,) [rad] in which it stands at first."""

    @abstractmethod
    def step(self, readings: Readings) -> np.ndarray:
        """Return the set-points (n,) [rad] for the next 20 ms."""

    velocity: np.ndarray | None = field(default=None, init=False)  # rates (n,) [rad/s] of the set-points, if known
    twist: np.ndarray | None = field(default=None, init=False)  # (3,) vx, vy, wz that the set-points follow, if known
