"""Which manoeuvre turns the robot over in each attempt, and how fast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.gait.get_up_manoeuvre import Manoeuvre, joint_poses
from hexapod_dynamics.robot import Robot

# For a slow attempt: factor on the times of the poses, and least time [s] of a pose to which it applies.
SLOWER, SLOW_LEAST = 2.5, 0.6


class Attempts:
    """Attempts to turn a robot over; count: of those begun; pose: the present one of the manoeuvre's `poses`."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._plan: list[Manoeuvre] = []
        self._damaged = self._slow = False
        self.poses = np.zeros((0, robot.joint_count))  # (poses, n) [rad]
        self._times: tuple[float, ...] = ()
        self.count = self.pose = 0

    def begin(self, plan: Sequence[Manoeuvre], damaged: bool) -> None:
        """Begin with these manoeuvres, the best first; damaged: whether a leg exists that takes no part.

        Such a leg may block a roll that was made without it. The next attempts use the other manoeuvres, the last of
        the plan first: of the intact robot's, that in which the side of that leg pushes.
        """
        plan = list(plan)
        self._plan, self._damaged = plan[:1] + plan[:0:-1] if damaged else plan, damaged
        self.count = 0

    def next(self, aside: np.ndarray) -> None:
        """Begin the next attempt; aside (n,) [rad]: angles of the legs that take no part.

        The first manoeuvre is repeated slowly, because a repetition at the same speed would fail in the same way.
        """
        self._slow = self.count == 1 and not self._damaged
        choice = self.count if self._damaged else max(0, self.count - 1)
        manoeuvre = self._plan[choice % len(self._plan)]
        self.count += 1
        self.poses, self._times = joint_poses(self._robot, manoeuvre, aside), manoeuvre.times
        self.pose = 0

    @property
    def least_time(self) -> float:
        """Least time [s] of the present pose."""
        least = self._times[self.pose]
        return SLOWER * max(least, SLOW_LEAST) if self._slow else least

    def go_on(self) -> bool:
        """Go on to the next pose; False: that was the last one."""
        if self.pose + 1 >= len(self.poses):
            return False
        self.pose += 1
        return True
