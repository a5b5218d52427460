"""Methods that try gaits on the broken robot: CMA-ES, and IT&E with a MAP-Elites archive made beforehand.

Both walk the joint gait, notice by the motion capture that they have become slow, and then try one gait after the
other, TRIAL seconds each. They are told nothing of the damage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from joint_gait import LEGS, SIZE, JointGait, tripod
from recovery import Readings, Recovery

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth

TICK = 0.02
TRIAL, MEASURED = 3.0, 2.0  # [s] of one trial, and its last part, in which the speed is measured
SLOW, WATCH = 0.7, 3.0  # share of the usual speed over [s] that starts the trials
ARCHIVE = Path(__file__).parent / "map_elites.npz"
CELLS, SIGMA = 3, 0.12  # cells of each leg's amplitude, step of a mutation


@dataclass
class Trials(Recovery):
    """Walks the joint gait, and tries others when it is slow; `_next` and `_learn` say which.

    most: trials on the broken robot, after which the best one stays.
    """

    most: int = 20
    needs_position: bool = True
    usual: float = field(default=0.0, init=False)

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        self.gait, self.robot = JointGait(robot), robot
        self.x, self.time, self.trials, self.usual = self._healthy(robot), 0.0, 0, 0.0
        self.way: list[np.ndarray] = []
        self.trying, self.since, self.tried = False, 0.0, []
        return self.gait.stand.ravel().copy()

    def _healthy(self, robot: Robot) -> np.ndarray:
        return tripod(robot)

    def step(self, readings: Readings) -> np.ndarray:
        """Walk on, or try."""
        self.time += TICK
        self.way.append(readings.position.copy())
        if self.trying:
            self._try()
        elif len(self.way) > 8.0 / TICK:
            self._watch()
        return self.gait.angles(self.x, self.time)

    def _speed(self, seconds: float) -> float:
        ticks = round(seconds / TICK)
        return float(np.linalg.norm(self.way[-1] - self.way[-ticks])) / seconds  # as the score

    def _watch(self) -> None:
        speed = self._speed(WATCH)
        if self.usual == 0.0:
            self.usual = speed
        elif speed < SLOW * self.usual and not self.tried:
            self.trying, self.since = True, 0.0
            self.x = self._next()

    def _try(self) -> None:
        self.since += TICK
        if self.since < TRIAL:
            return
        speed = self._speed(MEASURED)
        self.trials += 1
        self.tried.append((speed, self.x))
        self._learn(self.x, speed)
        self.since = 0.0
        if self.trials >= self.most or self._enough(speed):
            self.trying, self.x = False, max(self.tried, key=lambda row: row[0])[1]
        else:
            self.x = self._next()

    def _enough(self, speed: float) -> bool:
        return speed >= 0.9 * self.usual

    def _next(self) -> np.ndarray:
        raise NotImplementedError

    def _learn(self, x: np.ndarray, speed: float) -> None:
        """Take the speed [m/s] of a gait into account."""


@dataclass
class OnlineCma(Trials):
    """CMA-ES (PyPI: cma) on the broken robot, from the tripod."""

    name: str = "CMA-ES online"

    def reset(self, robot: Robot) -> np.ndarray:
        """Stand."""
        import cma

        self.search = cma.CMAEvolutionStrategy(
            self._healthy(robot), 0.2, {"popsize": 6, "seed": 7, "verbose": -9, "bounds": [0.0, 1.0]}
        )
        self.asked: list[np.ndarray] = []
        self.told: list[tuple[np.ndarray, float]] = []
        return super().reset(robot)

    def _next(self) -> np.ndarray:
        if not self.asked:
            if self.told:
                self.search.tell([x for x, _ in self.told], [-speed for _, speed in self.told])
                self.told = []
            self.asked = list(self.search.ask())
        return self.asked.pop(0)

    def _learn(self, x: np.ndarray, speed: float) -> None:
        self.told.append((x, speed))


@dataclass
class IntelligentTrialAndError(Trials):
    """IT&E (Cully 2015): a Gaussian process over a MAP-Elites archive, the archive's speeds as its mean.

    The next trial is the elite with the largest mean + KAPPA standard deviations; Matern 5/2 over the behaviours.
    """

    name: str = "IT&E"
    RHO, KAPPA, NOISE = 0.4, 0.05, 1e-3

    def _healthy(self, robot: Robot) -> np.ndarray:
        if not ARCHIVE.is_file():
            raise HexapodError(f"{ARCHIVE.name} is missing: make it with `run.py --archive 1500`, in ten minutes")
        stored = np.load(ARCHIVE)
        self.points, self.behaviours, self.speeds = stored["points"], stored["behaviours"], stored["speeds"]
        self.seen: list[int] = []
        self.measured: list[float] = []
        return self.points[int(np.argmax(self.speeds))]

    def _kernel(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        d = np.sqrt(5.0) * np.linalg.norm(a[:, None] - b[None], axis=2) / self.RHO
        return (1.0 + d + d * d / 3.0) * np.exp(-d)

    def _next(self) -> np.ndarray:
        mean, spread = self.speeds.copy(), np.ones(len(self.speeds))
        if self.seen:
            seen = self.behaviours[self.seen]
            inverse = np.linalg.inv(self._kernel(seen, seen) + self.NOISE * np.eye(len(seen)))
            to = self._kernel(self.behaviours, seen)
            mean = mean + to @ inverse @ (np.array(self.measured) - self.speeds[self.seen])
            spread = np.sqrt(np.maximum(0.0, 1.0 - np.einsum("ij,jk,ik->i", to, inverse, to)))
        self.seen.append(int(np.argmax(mean + self.KAPPA * spread)))
        return self.points[self.seen[-1]]

    def _learn(self, x: np.ndarray, speed: float) -> None:
        self.measured.append(speed)


def speed_of(robot: Robot, x: np.ndarray, seconds: float = 4.0) -> float:
    """Return the forward speed [m/s] of a point on the whole robot as its model is; 0 if it tips over."""
    gait, physics = JointGait(robot), MujocoSimulator(robot, timestep=2e-3, truth=Truth())
    physics.reset(joints=gait.stand.ravel())
    start = 0.0
    for tick in range(round(seconds / TICK)):
        physics.command(gait.angles(x, tick * TICK), TICK)
        physics.step(round(TICK / physics.timestep))
        if physics.rotation[2, 2] < 0.7:
            return 0.0
        if tick == round(1.0 / TICK):
            start = float(physics.position[0])
    return float(physics.position[0] - start) / (seconds - 1.0)


def make_archive(robot: Robot, evaluations: int, seed: int = 1) -> int:
    """Make the archive by MAP-Elites (PyPI: ribs) with so many simulated walks of the whole robot; return its size."""
    from ribs.archives import GridArchive

    random, gait = np.random.default_rng(seed), JointGait(robot)
    archive = GridArchive(solution_dim=SIZE, dims=[CELLS] * LEGS, ranges=[(0.0, 1.0)] * LEGS, seed=seed)
    for k in range(evaluations):
        if k < evaluations // 10:
            x = tripod(robot) + 0.25 * random.standard_normal(SIZE)
        else:
            x = archive.sample_elites(1)["solution"][0] + SIGMA * random.standard_normal(SIZE)
        x = np.clip(x, 0.0, 1.0)
        archive.add_single(x, speed_of(robot, x), gait.descriptor(x))
    elites = archive.data(["solution", "measures", "objective"], return_type="tuple")
    np.savez_compressed(ARCHIVE, points=elites[0], behaviours=elites[1], speeds=elites[2])
    return len(elites[0])
