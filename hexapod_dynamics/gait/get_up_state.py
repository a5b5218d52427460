"""What `GetUp` does, is told and measures: its phases, its settings, a sample of its sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hexapod_dynamics.settings_check import require_positive


class Phase(Enum):
    """What the robot does, in words for logs."""

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
ANNOUNCES = (Phase.ANNOUNCED, Phase.BLOCKED)  # that it will move in a moment
WAITS = (*ANNOUNCES, Phase.LIES)  # for rest: nothing moves


@dataclass(frozen=True)
class GetUpSettings:
    """speed [rad/s]: of any joint. announce [s]: at rest, before anything moves. patience [s]: in which it must come to
    rest. readings [s]: in which what is not measured has to come, before anything moves. settle [s]: at rest, between
    two phases. attempts: to turn over, until it gives up. follow_limit [rad], follow_time [s]: a joint that is further
    from its set-points for longer stops the motion. free_fall [s]: that stops it; a body that tips over its pivots at
    5 rad/s falls for 0.15 s.
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
    """What is measured now: joints (n,) [rad], NaN where not known; of base_link, in its own axes, the upward direction
    (3,), the angular velocity (3,) [rad/s] and the specific force (3,) [m/s^2].
    """

    joints: np.ndarray
    up: Sequence[float]
    rate: Sequence[float]
    force: Sequence[float]
