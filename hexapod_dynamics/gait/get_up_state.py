"""Phases and settings of `GetUp`, and a sample of its sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hexapod_dynamics.settings_check import require_positive


class Phase(Enum):
    """The action of the robot, in words for logs."""

    IDLE = "idle"
    ANNOUNCED = "about to get up"
    BLOCKED = "waits, because something is in the way"
    PROBE = "trying the joints"
    STAR = "spreading the legs"
    TOPPLE = "toppling off its edge"
    LIES = "lying"
    ROLL = "turning over"
    RAISE = "raising the legs"
    TUCK = "tucking the legs"
    STAND = "standing up"
    DONE = "stands"
    STOPPED = "stopped"
    FAILED = "gave up"


ENDED = (Phase.IDLE, Phase.DONE, Phase.STOPPED, Phase.FAILED)
ROLLS_OR_RISES = (Phase.ROLL, Phase.RAISE, Phase.TUCK, Phase.STAND)
ANNOUNCES = (Phase.ANNOUNCED, Phase.BLOCKED)  # phases that announce a motion
WAITS = (*ANNOUNCES, Phase.LIES)  # phases that wait for rest, without motion
UPRIGHT = 0.9  # upward component of the body's z axis of a robot that is upright


@dataclass(frozen=True)
class GetUpSettings:
    """speed [rad/s]: of any joint. announce [s]: time at rest before the first motion. patience [s]: time within
    which it must come to rest. readings [s]: time within which missing measurements must arrive before the first
    motion. settle [s]: time at rest between two phases. attempts: number of attempts to turn over. follow_limit
    [rad], follow_time [s]: the motion stops if a joint is further from its set-points for longer. free_fall [s]:
    duration of a free fall that stops the motion; a body that tips over its pivots at 5 rad/s falls for 0.15 s.
    """

    speed: float = 2.0
    announce: float = 2.0
    patience: float = 10.0
    readings: float = 30.0
    settle: float = 0.1
    attempts: int = 3
    follow_limit: float = 0.6
    follow_time: float = 0.3
    free_fall: float = 0.25

    def __post_init__(self) -> None:
        require_positive(self.__dict__)


@dataclass
class Sensed:
    """Present measurements: joints (n,) [rad], NaN if not known; of base_link, in its own axes, the upward
    direction (3,), the angular velocity (3,) [rad/s] and the specific force (3,) [m/s^2].
    """

    joints: np.ndarray
    up: Sequence[float]
    rate: Sequence[float]
    force: Sequence[float]
