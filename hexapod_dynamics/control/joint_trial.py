"""Tests whether a joint that was declared locked moves again, by commanding it for a moment to another angle than
that of its lock.

A joint that is declared locked is not commanded any more. Its servo holds the last set-point. If that is the angle
of the lock, a repaired joint cannot be distinguished from a locked one without a trial. After the trial the
set-point is the angle of the lock, so that the servo of a locked joint exerts no torque.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot

OFFSET = 0.11  # [rad] from the angle of the lock: upwards, or downwards if the stop is too near


class JointTrial:
    """Commands one locked joint of a Robot beside its lock; times are seconds on one clock. joint: its index."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._locked: dict[str, tuple[int, float]] = {}
        self._begun = self._angle = self._beside = 0.0
        self.joint: int | None = None

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; a running trial ends."""
        self.joint = None
        names, angles = self._robot.part_names, morphology.locked_positions
        stuck = np.flatnonzero(morphology.existing_mask & ~morphology.moving_mask)
        self._locked = {names[joint]: (joint, angles.item(joint)) for joint in stuck.tolist()}

    def start(self, time: float, name: str) -> bool:
        """Start the trial of a joint (`RF.femur`) at `time` [s]; return False if it is not declared locked, or
        another trial runs.
        """
        if self.joint is not None or name not in self._locked:
            return False
        joint, angle = self._locked[name]
        up = angle + OFFSET <= self._robot.joints[joint].upper
        self.joint, self._begun, self._angle = joint, time, angle
        self._beside = angle + OFFSET if up else angle - OFFSET
        return True

    def setpoint(self, time: float) -> float | None:
        """Return the set-point [rad] of `joint` at `time` [s]; None if no trial runs (any more)."""
        if time - self._begun > 3.0:
            self.joint = None
        if self.joint is None:
            return None
        return self._beside if time - self._begun <= 2.5 else self._angle  # half a second back at the angle of the lock
