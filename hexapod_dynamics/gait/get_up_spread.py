"""Spreads the legs of a robot that lies to STAR, by ways on which they do not touch each other (untangle.py)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hexapod_dynamics.gait.get_up_motion import Motion
from hexapod_dynamics.gait.get_up_state import Phase
from hexapod_dynamics.gait.get_up_watch import MEMORY
from hexapod_dynamics.gait.untangle import LegSpace, untangled
from hexapod_dynamics.robot import Morphology

TANGLED = 0.3  # [rad] distance from STAR after all moves to it above which legs are tangled
MOST_PLANS = 3  # number of ways to STAR that are tried


class Spreading:
    """Ways of all legs to STAR; plans: number of ways so far."""

    def __init__(self, motion: Motion) -> None:
        self._motion = motion
        self._space = LegSpace(motion.robot)
        self._way: Iterator[np.ndarray | None] = iter(())
        self.plans = 0

    def adopt(self, morphology: Morphology) -> None:
        """Adopt a Morphology, and begin to count ways."""
        self._space, self.plans = LegSpace(self._motion.robot, morphology), 0

    def begin(self, lost: np.ndarray) -> None:
        """Begin to search a way from the set-points, in the background; lost (n,) [rad]: angles of the joints that are
        not commanded.
        """
        motion = self._motion
        self.plans += 1
        here = np.nan_to_num(np.where(motion.moves, motion.setpoints, lost))
        self._way = untangled(self._space, here, np.where(motion.moves, motion.poses.star, np.nan))
        motion.move(Phase.STAR, motion.setpoints, 0.0)

    def go_on(self) -> bool:
        """Begin the next move, or the next attempt to find one; each takes a tick. False: there is none."""
        for target in self._way:
            if target is not None:
                self._motion.move(Phase.STAR, target, 0.3)
            return True
        return False

    def off(self, readings: np.ndarray) -> np.ndarray:
        """Return which joints (n,) are read far from STAR."""
        return self._motion.moves & (np.abs(readings - self._motion.poses.star) > TANGLED)

    def may_try(self, tried: int) -> bool:
        """Return whether another way may be tried; tried: number of motions to another place so far."""
        return self.plans < MOST_PLANS + tried

    @property
    def settled(self) -> bool:
        """Whether each joint has been read since the last motion."""
        return self._motion.time >= MEMORY
