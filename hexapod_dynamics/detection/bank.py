"""Simulates the hypotheses and an ensemble of plausible intact robots under the commands that were sent.

The simulations run in threads: the compiled model releases the interpreter lock, so they use other cores while the
caller continues.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Predictor

Simulated = tuple[np.ndarray, np.ndarray]


def has_diverged(
    places: np.ndarray, rotations: np.ndarray, joints: np.ndarray, diverged: float = LIMITS.diverged
) -> bool:
    """Return True if a simulation has diverged; then its hypothesis has likelihood zero, and its result is not
    used.

    places (T, 3) [m], rotations (T, 3, 3), joints (T, n) [rad]: after each tick. diverged: joint angle [rad] or
    displacement [m] above which it has.
    """
    if not all(np.isfinite(one).all() for one in (places, rotations, joints)):
        return True
    return bool(max(np.abs(places).max(initial=0.0), np.abs(joints).max(initial=0.0)) >= diverged)


class HypothesisBank:
    """Runs many Predictors over the same ticks; horizon: largest number of ticks of a run.

    A result is joint angles (T, n) [rad] and roll, pitch, yaw (T, 3) [rad] after each tick; None if the simulation
    has diverged.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        timestep: float,
        horizon: int,
        members: int,
        seed: int = 0,
        limits: DetectorLimits = LIMITS,
    ) -> None:
        self.robot, self.period, self._timestep, self._horizon = robot, period, timestep, horizon
        self._local, self._limits = threading.local(), limits
        self.zone = 0.0  # [rad] dead zone of all servos, +-zone
        random = self._random = np.random.default_rng(seed)
        self._members = []
        for k in range(2 * members):
            member = self._member(random) if k < members else self._rough(random, k)
            self._members.append((*member, threading.Lock()))

    def _predictor(self, robot: Robot, ground: Ground | None = None) -> Predictor:
        return Predictor(
            robot,
            timestep=self._timestep,
            horizon_steps=self._horizon,
            horizon_period=self.period,
            horizon_timestep=self._timestep,
            ground=ground,
        )

    def _member(self, random: np.random.Generator) -> tuple[Any, np.ndarray]:
        """A Predictor with random stiffness and ground, and the wrench (6,) of a random payload."""
        robot, limits = self.robot, self._limits
        stiffness = robot.servo.stiffness * (
            1.0 + random.uniform(-limits.ensemble_stiffness, limits.ensemble_stiffness)
        )
        variant = dataclasses.replace(robot, servo=dataclasses.replace(robot.servo, stiffness=stiffness))
        ground = Ground(
            friction=random.uniform(limits.ensemble_slippery, limits.ensemble_grippy),
            slope=random.uniform(0.0, limits.ensemble_slope),
            slope_yaw=random.uniform(-180, 180),
        )
        weight = robot.gravity * random.uniform(-limits.ensemble_payload, limits.ensemble_payload)
        x, y = random.uniform(-1.0, 1.0, 2) * (limits.ensemble_place_x, limits.ensemble_place_y)
        return self._predictor(variant, ground), np.array([0.0, 0.0, -weight, -y * weight, x * weight, 0.0])

    def _rough(self, random: np.random.Generator, seed: int) -> tuple[Any, np.ndarray]:
        """A Predictor of the nominal robot on rough ground."""
        limits = self._limits
        friction = random.uniform(limits.ensemble_slippery, limits.ensemble_grippy)
        ground = Ground(friction=friction, rough=limits.ensemble_rough, seed=seed, cell=0.03)
        return self._predictor(self.robot, ground), np.zeros(6)

    def tasks(
        self, snapshot: Any, morphology: Morphology, targets: np.ndarray, hypotheses: Any
    ) -> list[Callable[[], Simulated | None]]:
        """Return callables without arguments, one for each simulation: the declared robot, the hypotheses, the
        ensemble. Each may run in any thread.

        snapshot: state at the start; targets (T, n) [rad], one row for each tick.
        """
        found = [self._simulation(snapshot, morphology, targets)]
        found += self.damaged(snapshot, morphology, targets, hypotheses)
        for member in self._members:
            found.append(self._ensemble(snapshot, morphology, targets, *member))
        return found

    def damaged(
        self, snapshot: Any, morphology: Morphology, targets: np.ndarray, hypotheses: Any
    ) -> list[Callable[[], Simulated | None]]:
        """Return the part of `tasks` for the hypotheses."""
        return [self._simulation(snapshot, morphology, targets, one) for one in hypotheses]

    def _simulation(self, snapshot: Any, morphology: Morphology, targets: np.ndarray, hypothesis: Any = None) -> Any:
        zone = self.zone

        def run() -> Any:
            predictor = getattr(self._local, "predictor", None)
            if predictor is None:
                predictor = self._local.predictor = self._predictor(self.robot)
            predictor.set_dead_band(zone)
            predictor.set_morphology(morphology if hypothesis is None else hypothesis.applied(morphology))
            predictor.restore(snapshot)
            return self._run(predictor, targets)

        return run

    def _ensemble(
        self,
        snapshot: Any,
        morphology: Morphology,
        targets: np.ndarray,
        predictor: Any,
        wrench: np.ndarray,
        lock: threading.Lock,
    ) -> Any:
        # Each run starts at another place of the rough ground, so that the runs differ.
        place = self._random.uniform(-3.0, 3.0, 2) if predictor.ground.rough else (0.0, 0.0)
        zone = self.zone

        def run() -> Any:
            with lock:  # a cancelled bank may still be using it
                predictor.set_dead_band(zone)
                predictor.set_morphology(Morphology.from_parameters(predictor.robot, morphology.parameters()))
                predictor.restore(snapshot)
                predictor.position[:2] = place
                predictor.position[2] += predictor.ground.height(*place)
                predictor.push(wrench)
                return self._run(predictor, targets)

        return run

    def _run(self, predictor: Any, targets: np.ndarray) -> Simulated | None:
        places, rotations, joints = predictor.roll_out(targets)
        if has_diverged(places, rotations, joints, self._limits.diverged):
            return None
        tilt = np.empty((len(targets), 3))
        tilt[:, 0] = np.arctan2(rotations[:, 2, 1], rotations[:, 2, 2])
        tilt[:, 1] = np.arcsin(np.clip(-rotations[:, 2, 0], -1.0, 1.0))
        tilt[:, 2] = np.unwrap(np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0]))
        return joints.copy(), tilt
