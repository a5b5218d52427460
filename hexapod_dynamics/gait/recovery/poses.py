"""Phases, settings, measurements and poses of a robot that gets up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hexapod_dynamics.errors import HexapodError, require_positive
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.recovery.manoeuvres import pose_angles
from hexapod_dynamics.robot import Leg, Morphology, Robot


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


# Coxa, femur, tibia [rad] of each leg.
STAR = (0.0, 0.0, 1.17)  # straight out: the robot lies flat on its belly or on its back, from any attitude
TUCK = (0.0, 1.6, -1.0)
FOLDED = (0.0, -1.6, -1.2)  # below the body: a leg that takes no part in a roll; with a coxa that does not move: TUCK
OVER = (0.0, -1.6, 0.0)  # all legs below the body: a robot that stands on its edge topples onto them
WITHIN = 0.03  # [rad] from the joint limits
LEAST_TIBIA = 0.7  # share of a tibia below which its leg cannot push


class GetUpPoses:
    """Joint angles (n,) [rad] of a robot in the poses star, over and tuck; aside: of legs that take no part in a
    roll.
    """

    def __init__(self, robot: Robot) -> None:
        limits = np.array([joint.planned_range for joint in robot.joints])
        self._low, self._high = limits[:, 0] + WITHIN, limits[:, 1] - WITHIN
        self.star, self.over, self.tuck, self._folded = (
            self.within(pose_angles(robot, pose, pose)) for pose in (STAR, OVER, TUCK, FOLDED)
        )
        self.aside = self._folded.copy()

    def within(self, angles: np.ndarray) -> np.ndarray:
        """Return joint angles (n,) [rad] bounded by the joint limits."""
        return np.clip(angles, self._low, self._high)

    def towards_tuck(self, seat: np.ndarray) -> np.ndarray:
        """Return `seat` (n,) [rad], joint angles when the robot sits, with no leg folded further than in tuck."""
        out = self.within(seat)
        low, high = np.minimum(self.star, self.tuck), np.maximum(self.star, self.tuck)
        bends = np.arange(len(seat)) % 3 > 0  # femurs and tibias
        out[bends] = np.clip(out, low, high)[bends]
        return out

    def fold_aside(self, moves: np.ndarray) -> None:
        """Set `aside` for the joints that move, (n,) bool."""
        legs = moves.reshape(-1, 3)
        tucks = ~legs[:, :1] & legs[:, 1:].all(axis=1, keepdims=True)
        self.aside[:] = np.where(np.repeat(tucks, 3), self.tuck, self._folded)


def lost_legs(robot: Robot, morphology: Morphology) -> tuple[str, ...]:
    """Return the names of the legs of which a joint or most of the tibia is missing, or a joint is locked or limp."""
    return tuple(leg.name for leg in robot.legs if not _intact_joints(robot, morphology, leg).all())


def legs_damaged_only_at(robot: Robot, morphology: Morphology, joint: int) -> tuple[str, ...]:
    """Return the names of those of the `lost_legs` of which one joint alone is locked or limp, and nothing is missing;
    joint: 0 the coxa, 1 the femur, 2 the tibia.
    """
    others = np.arange(3) != joint
    intact_joints = {leg.name: _intact_joints(robot, morphology, leg) for leg in robot.legs}
    return tuple(
        name
        for name, intact in intact_joints.items()
        if not intact[joint] and intact[others].all() and morphology.existing_mask[robot.leg_joints(name)].all()
    )


def _intact_joints(robot: Robot, morphology: Morphology, leg: Leg) -> np.ndarray:
    """Return which joints (3,) of a leg exist and are moved by their servos, none where most of the tibia is lost."""
    if morphology.remaining(leg.name, leg.link_names[-1]) < LEAST_TIBIA:
        return np.zeros(len(leg.joints), bool)
    joints = robot.leg_joints(leg.name)
    return morphology.existing_mask[joints] & morphology.moving_mask[joints] & morphology.driven_mask[joints]


def seated(gait: Gait) -> np.ndarray:
    """Let a gait sit without a robot; return its joint angles (n,) [rad], those of standing if the gait cannot
    sit.
    """
    gait.reset()
    try:
        gait.sit()
    except HexapodError:
        return gait.position.copy()
    for _ in range(500):
        if gait.doing == "sitting":
            break
        gait.step(0.02)
    return gait.position.copy()
