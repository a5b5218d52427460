"""Set-points of a robot that gets up: uniform moves of all joints to a pose, and whether the joints follow them."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait.get_up_poses import GetUpPoses
from hexapod_dynamics.gait.get_up_state import GetUpSettings, Phase
from hexapod_dynamics.gait.get_up_watch import FollowWatch
from hexapod_dynamics.robot import Morphology, Robot


class Motion:
    """The phase of a robot that gets up, with its move of all joints from the angles `origin` to `goal`.

    moves (n,): joints that can be commanded; spare (n,): joints of legs that are damaged but exist. setpoints,
    origin, goal (n,) [rad]: NaN where a joint is not commanded. fastest [rad/s]: of the joints in this phase. time
    [s]: since the phase began; reason: why it ended or waits, in words.
    """

    def __init__(self, robot: Robot, settings: GetUpSettings, dt: float) -> None:
        self.robot, self.settings = robot, settings
        n = robot.joint_count
        self.poses = GetUpPoses(robot)
        self.moves, self.spare = np.ones(n, bool), np.zeros(n, bool)
        self.setpoints, self.origin, self.goal = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        self.follow = FollowWatch(n, dt, settings.follow_limit)
        self.time = self._lasts = self._hold = 0.0
        self.fastest = settings.speed
        self.phase, self.reason = Phase.IDLE, ""

    def adopt(self, morphology: Morphology, lost: tuple[str, ...]) -> None:
        """Adopt a Morphology; lost: names of the legs that take no part in a roll."""
        self.moves[:] = morphology.moving_mask & morphology.driven_mask
        self.spare[:] = False
        for name in lost:
            joints = self.robot.leg_joints(name)
            self.spare[joints] = morphology.existing_mask[joints].all()
        self.poses.fold_aside(self.moves)

    # ---- phases ------------------------------------------------------------------------------------------------------

    def enter(self, phase: Phase) -> None:
        """Begin a phase without a move."""
        self.phase, self.time = phase, 0.0

    def end(self, phase: Phase, reason: str) -> None:
        """End with a reason, in words."""
        self.enter(phase)
        self.reason = reason

    def move(
        self, phase: Phase, target: np.ndarray, least: float, hold: float = 0.0, most: float = float("inf")
    ) -> None:
        """Begin a phase that moves all joints uniformly to target (n,) [rad], in `least` [s] or longer, none faster
        than `most` [rad/s], then holds for `hold` [s].
        """
        self.enter(phase)
        self.origin[:] = self.setpoints
        self.goal[:] = np.where(self.moves, self.poses.within(target), np.nan)
        way = np.fmax.reduce(np.abs(self.goal - self.origin), initial=0.0)
        self.fastest = min(self.settings.speed, most)
        self._lasts, self._hold = max(least, way / self.fastest), hold

    @property
    def hold(self) -> float:
        """Longest time [s] of lying still after the present move."""
        return self._hold

    def advance(self) -> None:
        """Set the set-points to those of the present time."""
        share = min(1.0, self.time / self._lasts) if self._lasts > 0.0 else 1.0
        self.setpoints[:] = self.origin + share * (self.goal - self.origin)

    @property
    def arrived(self) -> bool:
        """Whether the set-points are at the end of the move."""
        return self.time >= self._lasts

    @property
    def over(self) -> bool:
        """Whether the move has ended, and the time after it."""
        return self.time - self._lasts >= self._hold - 1e-9

    # ---- readings ----------------------------------------------------------------------------------------------------

    def rest_at(self, readings: np.ndarray) -> None:
        """Set the set-points to where the joints are read (n,) [rad], so that no servo pushes."""
        self.setpoints[:] = np.where(self.moves, readings, np.nan)

    def begin_at(self, readings: np.ndarray) -> None:
        """Do as `rest_at`, and forget the set-points of before: what follows is compared with new ones only."""
        self.rest_at(readings)
        self.follow.start(self.setpoints)

    @property
    def blocked(self) -> np.ndarray:
        """Joints (n,) that have been far off their set-points for too long."""
        return self.follow.off_for > self.settings.follow_time

    def keep(self, joints: np.ndarray, readings: np.ndarray) -> None:
        """Let the joints of a mask (n,) keep the angles at which they are read (n,) [rad], for the rest of the move."""
        for angles in (self.origin, self.goal, self.setpoints):
            angles[joints] = readings[joints]

    def names(self, joints: np.ndarray) -> str:
        """Return the names of the joints of a mask (n,), with commas."""
        return ", ".join(name for name, one in zip(self.robot.joint_names, joints, strict=True) if one)
