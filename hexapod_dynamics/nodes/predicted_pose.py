"""The predicted pose in the diagnostics of `dynamics`: once a second, for the status line.

A subscription to `predicted_state` for one line a second would make `dynamics` publish a hundred messages a
second.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from diagnostic_msgs.msg import KeyValue
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_quaternion

TIME, PLACE, TURN = "time of the predicted pose [s]", "predicted position [m]", "predicted quaternion (x y z w)"


def values(seconds: float, position: np.ndarray, rotation: np.ndarray) -> dict[str, str]:
    """Return {key: text} of a pose: its time [s] on the system clock, position (3,) [m], rotation (3, 3)."""
    return {
        TIME: f"{seconds:.3f}",
        PLACE: " ".join(f"{number:.4f}" for number in position.tolist()),
        TURN: " ".join(f"{number:.6f}" for number in quaternion_from_rotation(rotation)),
    }


def read(pairs: Iterable[KeyValue]) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Return time [s], position (3,) and rotation (3, 3) of a status's KeyValues; None if there is no pose in them."""
    given = {pair.key: pair.value for pair in pairs}
    if not given.keys() >= {TIME, PLACE, TURN}:
        return None
    place, turn = (np.array(given[key].split(), float) for key in (PLACE, TURN))
    return float(given[TIME]), place, rotation_from_quaternion(turn)
