"""Methods of the arena that need no search: textbook gaits, and this package told and untold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from recovery import SPEED, Readings, Recovery

from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.onboard.simulation import TICK
from hexapod_dynamics.robot import Robot


@dataclass
class Tripod(Recovery):
    """The textbook tripod, which takes no notice of damage."""

    name: str = "tripod"

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        self.gait = TripodGait().bind(robot)
        self.gait.command(SPEED, 0.0, 0.0)
        self.twist = np.array([SPEED, 0.0, 0.0])
        return self.gait.position.copy()

    def step(self, readings: Readings) -> np.ndarray:
        """Walk on."""
        position, self.velocity = (array.copy() for array in self.gait.step(TICK))
        return position


@dataclass
class Wave(Recovery):
    """The textbook wave of the legs that are left; it has to be told which these are."""

    name: str = "wave"

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        self.gait = AdaptiveGait(pattern="wave", tilt_limit=0.0).bind(robot)
        self.gait.command(SPEED, 0.0, 0.0)
        return self.gait.position.copy()

    def step(self, readings: Readings) -> np.ndarray:
        """Walk on, without the legs that are lost."""
        if readings.damage is not None and readings.damage is not self.belief:
            self.belief = readings.damage
            self.gait.set_morphology(self.belief)
        position, self.velocity = (array.copy() for array in self.gait.step(TICK))
        self.twist = self.gait.twist
        return position


@dataclass
class Ours(Recovery):
    """This package: the robot's whole program, with the adaptive gait; untold, with the damage detector."""

    name: str = "this package"
    make: Callable[[], AdaptiveGait] = AdaptiveGait

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        self.gait = self.make()
        return self.gait.bind(robot).position.copy()

    def step(self, readings: Readings) -> np.ndarray:
        """Stand: episode.py runs the program itself, because it has a bus, an IMU and a detector of its own."""
        return self.gait.position.copy()
