"""Methods of the arena that need no search: textbook gaits, and this package told and untold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from episode import SPEED
from recovery import Readings, Recovery

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.joint_trial import JointTrial
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

TICK, SETTLED = 0.02, 2.0
BUS_EVERY, UPDATE_EVERY = 15, 2  # ticks between two reports of the bus, two updates of the detector


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
    """The adaptive gait; untold, with the damage detector, wired as the nodes wire them."""

    name: str = "this package"
    make: Callable[[], AdaptiveGait] = AdaptiveGait

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        self.robot = robot
        self.gait = self.make().bind(robot)
        self.gait.command(SPEED, 0.0, 0.0)
        self.detector, self.forward = DamageDetector(robot), Feedforward(robot)
        self.trial = JointTrial(robot)
        self.declared = Morphology.whole(robot)
        self.ticks, self.height = 0, 0.0
        return self.gait.position.copy()

    def step(self, readings: Readings) -> np.ndarray:
        """Take the readings, decide, and walk on."""
        now = self.ticks * TICK
        if readings.damage is not None:
            self._declare(readings.damage)
        elif self.ticks:
            self._detect(now, readings)
        if now > SETTLED:
            yaw, pitch, roll = euler_zyx(readings.rotation)
            self.gait.sense(roll, pitch, yaw)
        position, self.velocity = (array.copy() for array in self.gait.step(TICK))
        self.twist = self.gait.twist
        tried = self.trial.setpoint(now)
        if tried is not None:
            position[self.trial.joint] = tried
        if readings.damage is None:
            command = np.where(self.declared.moving_mask, position, np.nan)
            self.detector.command(now, command, self._torques(position))
        self.ticks += 1
        return position

    def _detect(self, now: float, readings: Readings) -> None:
        detector = self.detector
        detector.measure_attitude(readings.time, readings.rotation)
        detector.measure_joints(readings.time, readings.joints)
        if self.ticks % BUS_EVERY == 0:
            detector.bus(
                now, readings.silent, np.zeros(len(readings.silent), bool), ~self.declared.existing_mask & False
            )
        if self.ticks % UPDATE_EVERY:
            return
        for decision in detector.update(now):
            if decision.action != "suspect":
                self._declare(self.declared.updated(decision.values))
        leg = detector.probe(now)
        if leg is not None:
            self.gait.contact_probe(leg)
        joint = detector.retest(now)
        if joint is not None:
            self.trial.begin(now, joint)

    def _torques(self, position: np.ndarray) -> np.ndarray:
        twist = np.zeros(6)
        twist[[0, 1, 5]] = self.gait.twist
        still = np.zeros(len(position))
        torques = self.forward.solve(np.eye(3), self.height, twist, position, self.gait.velocity, still, position)
        legs = self.declared.existing_mask.reshape(len(self.robot.legs), -1).all(axis=1)
        self.height = -float(self.forward.tips[legs][:, 2].min(initial=0.0))
        return torques.copy()

    def _declare(self, morphology: Morphology) -> None:
        if morphology == self.declared:
            return
        self.declared = self.belief = morphology
        self.gait.set_morphology(morphology)
        self.trial.set_morphology(morphology)
        self.forward.set_morphology(morphology)
        self.detector.set_morphology(morphology)
