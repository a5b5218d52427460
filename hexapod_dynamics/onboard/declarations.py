"""What the node `damage_manager` does: holds the declared damage, and refuses what is impossible."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.robot import Morphology, Robot

# Largest number of changes within WINDOW [s]: after each change every node plans again, and the change is stored.
# Further changes are refused.
MOST_CHANGES, WINDOW = 20, 1.0


def apply(morphology: Morphology, values: Mapping[str, object], locked_angles: Mapping[str, float]) -> Morphology:
    """Return the morphology after a request {name: value}; raise MorphologyError if the request is impossible.

    Each value must hold in the result: {legs.LF: true, links.LF.coxa: false} contradicts itself and is rejected.
    locked_angles: positions [rad] of newly locked joints without a locked_at in `values`, by joint name.
    """
    if not values:
        raise MorphologyError("the request is empty; give for example legs.RM = false")
    new = morphology.updated(values, locked_angles)
    after = new.parameters()
    for name, value in values.items():
        if after[name] != value:
            raise MorphologyError(
                f"{name}: {value!r} contradicts the rest of the request, which makes it {after[name]!r}"
            )
    return new


class Declarations:
    """Holds one Morphology; times are seconds on one clock."""

    def __init__(self, robot: Robot, morphology: Morphology | None = None) -> None:
        self.robot, self.morphology = robot, morphology or Morphology.whole(robot)
        self._angles: dict[str, float] = {}
        self._measured = -math.inf
        self._changed: deque[float] = deque(maxlen=MOST_CHANGES)  # times of the last changes

    def measure(self, t: float, angles: np.ndarray) -> None:
        """Note the present joint angles (n,) [rad], NaN: unknown: the angles of joints that are declared locked."""
        named = zip(self.robot.joint_names, angles.tolist(), strict=True)
        self._angles, self._measured = {name: angle for name, angle in named if math.isfinite(angle)}, t

    def check(self, t: float, values: Mapping[str, object]) -> Morphology:
        """Return the morphology after a request {name: value} at the time t [s]; nothing changes yet.

        Raises MorphologyError if the request is impossible, or comes too soon after many others.
        """
        self.check_rate(t)
        recent = t - self._measured < 2.0  # [s] older angles are not those of a newly locked joint
        return apply(self.morphology, values, self._angles if recent else {})

    def check_rate(self, t: float) -> None:
        """Raise MorphologyError if there have been MOST_CHANGES changes within WINDOW."""
        if len(self._changed) == MOST_CHANGES and t - self._changed[0] < WINDOW:
            raise MorphologyError(
                f"{MOST_CHANGES} changes within {WINDOW:g} s are the most that are accepted; nothing has changed: "
                f"call again after {WINDOW:g} s"
            )

    def change(self, t: float, values: Mapping[str, object]) -> Morphology:
        """Execute a request; raises MorphologyError as `check`, then nothing has changed. Return the new morphology."""
        self.morphology = self.check(t, values)
        self.note_change(t)
        return self.morphology

    def note_change(self, t: float) -> None:
        """Count a change at the time t [s]."""
        self._changed.append(t)
