"""Tests whether a joint that was declared locked moves again, by commanding it for a moment to another angle than
that of its lock.

A joint that is declared locked is not commanded any more. Its servo holds the last set-point. If that is the angle
of the lock, a repaired joint cannot be distinguished from a locked one without a trial. After the trial the
set-point is the angle of the lock, so that the servo of a locked joint exerts no torque.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot

OFFSET = 0.11  # [rad] from the angle of the lock: upwards, or downwards if the stop is too near


class JointTrial:
    """Commands one locked joint of a Robot beside its lock; times are seconds on one clock. joint: its index."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._locked: dict[str, tuple[int, float]] = {}
        self._begun = self._angle = self._beside = 0.0
        self._back = math.inf  # time since which it is commanded back to the angle of the lock
        self.joint: int | None = None

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; a running trial of a joint that is still locked ends at its lock."""
        names, angles = self._robot.part_names, morphology.locked_positions
        stuck = np.flatnonzero(morphology.existing_mask & ~morphology.moving_mask).tolist()
        self._locked = {names[joint]: (joint, angles.item(joint)) for joint in stuck}
        self.joint, self._begun = self.joint if self.joint in stuck else None, -math.inf

    def start(self, time: float, name: str) -> bool:
        """Start the trial of a joint (`RF.femur`) at `time` [s]; return False if it is not declared locked, or
        another trial runs.
        """
        if self.joint is not None or name not in self._locked:
            return False
        joint, angle = self._locked[name]
        up = angle + OFFSET <= self._robot.joints[joint].upper
        self.joint, self._begun, self._angle = joint, time, angle
        self._beside, self._back = angle + OFFSET if up else angle - OFFSET, math.inf
        return True

    def setpoint(self, time: float) -> float | None:
        """Return the set-point [rad] of `joint` at `time` [s]; None if no trial runs (any more)."""
        if self.joint is None:
            return None
        if time - self._begun <= 2.5:
            return self._beside
        self._back = min(self._back, time)  # also where the robot has fallen or was stopped meanwhile
        if time - self._back > 0.5:
            self.joint = None
        return self._angle
