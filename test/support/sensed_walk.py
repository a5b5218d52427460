"""A walk whose predictions are compared with the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from support.walks import ROBOT, Walk

from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.prediction import PredictionSettings
from hexapod_dynamics.onboard.simulation import CHAIN_DELAY, REST_TIME
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx
from hexapod_dynamics.simulation import Truth

# Of a robot that is exactly as described, and whose servos start as late as those of the simulation.
EXACT = PredictionSettings(imu_mounting_error=0.0, servo_angle_error=0.0, command_delay=CHAIN_DELAY + 0.002)


def random_truth(rng: np.random.Generator, rough: float = 0.0) -> Truth:
    """Return a random truth, on ground rough by up to `rough` [m]."""
    truth = Truth(
        mass=rng.uniform(0.9, 1.1),
        payload=rng.uniform(0.0, 0.25),
        payload_x=rng.uniform(-0.04, 0.04),
        payload_y=rng.uniform(-0.03, 0.03),
        stiffness=rng.uniform(0.8, 1.2),
        friction=rng.uniform(0.4, 1.0),
        deadband=rng.uniform(0.0, 2.0),
        slope=rng.uniform(0.0, 3.0),
        slope_yaw=rng.uniform(-180.0, 180.0),
    )
    if rough == 0.0:
        return truth
    return replace(truth, rough=rng.uniform(0.0, rough), seed=int(rng.integers(1, 10_000)))


class SensedWalk(Walk):
    """A Walk without a damage detector that notes truth and prediction.

    gait: a TripodGait by default. known: the Robot that the program has, with servo zeros and the mounting of the IMU
    as identified. settings: of the prediction. every: samples between two rows. rests, timestep: of Walk; by default
    MuJoCo has 2 ms, and the built-in physics 1 ms, which is shorter than that of the model that predicts.

    rows: time, true x, y, yaw, roll, pitch, predicted the same five, the level of doubt (0, 1, 2), then the covariance
    of (x, y, yaw) and of (roll, pitch), row by row, then true and predicted z and its variance: 28 numbers. True x, y,
    z and yaw are relative to the point of the ground below the robot at the observer's start. said: doubts, and the
    time [s] of each one's first row.
    """

    def __init__(
        self,
        physics: str = "mujoco",
        truth: Truth | None = None,
        *,
        seed: int = 0,
        velocity: float = 0.077,
        robot: Robot = ROBOT,
        gait: str | Gait | None = None,
        settings: PredictionSettings = EXACT,
        known: Robot | None = None,
        every: int = 10,
        rests: float = REST_TIME,
        timestep: float | None = None,
    ) -> None:
        onboard = Onboard(known or robot, "off", "asked", gait=gait or TripodGait(), prediction=settings)
        self.rows: list[list[float]] = []
        self.said: dict[str, float] = {}
        self._every = every
        self._frame: Any = None  # of the world, at the observer's start: place and yaw
        timestep = timestep or (2e-3 if physics == "mujoco" else 1e-3)
        super().__init__(onboard, physics, truth, seed, robot=robot, timestep=timestep, rests=0.0)
        self.play = 0.0  # the dead band of the servos is learnt from readings without noise
        self.run(rests)
        self.twist[0] = velocity

    @property
    def observer(self) -> Observer:
        """The Observer of the program."""
        return self.onboard.parts.prediction.observer

    def tell(self, morphology: Morphology) -> None:
        """Break the robot and declare it."""
        self.break_parts(morphology)
        self.onboard.declare(morphology)

    def log(self, seconds: float) -> np.ndarray:
        """Walk on; return the rows of this time."""
        first = len(self.rows)
        self.run(seconds)
        return np.array(self.rows[first:])

    def sense(self) -> None:
        """Give the program what is measured, and note truth and prediction."""
        super().sense()
        observer = self.observer
        if not observer.started:
            return
        if self._frame is None:
            x, y, _ = self.physics.position
            self._frame = np.array([x, y, self.physics.ground.height(x, y)]), euler_zyx(self.physics.rotation)[0]
        if self._samples % self._every == 0:
            self.rows.append([self.time, *self._row()])

    def _row(self) -> list[float]:
        observer, (place, heading) = self.observer, self._frame
        cos, sin = np.cos(heading), np.sin(heading)
        x, y, z = self.physics.position - place
        yaw, pitch, roll = euler_zyx(self.physics.rotation)
        true = [cos * x + sin * y, cos * y - sin * x, yaw - heading, roll, pitch]
        yaw, pitch, roll = euler_zyx(observer.rotation)
        covariance = observer.covariance
        level, text = observer.confidence
        if text:
            self.said.setdefault(text, self.time)
        return (
            [*true, observer.position[0], observer.position[1], yaw, roll, pitch]
            + [("ok", "warn", "error").index(level)]
            + covariance[np.ix_([0, 1, 5], [0, 1, 5])].ravel().tolist()
            + covariance[3:5, 3:5].ravel().tolist()
            + [z, observer.position[2], covariance[2, 2]]
        )


def errors(rows: Any) -> tuple[Any, Any, Any, Any]:
    """Return pose errors (T, 3) x, y, yaw, tilt errors (T, 2) and their normalised squares (T,), (T,) of rows."""
    pose = rows[:, 6:9] - rows[:, 1:4]
    pose[:, 2] = (pose[:, 2] + np.pi) % (2 * np.pi) - np.pi
    tilt = rows[:, 9:11] - rows[:, 4:6]
    p, q = rows[:, 12:21].reshape(-1, 3, 3), rows[:, 21:25].reshape(-1, 2, 2)
    nees_pose = np.einsum("ti,ti->t", pose, np.linalg.solve(p, pose[..., None])[..., 0])
    nees_tilt = np.einsum("ti,ti->t", tilt, np.linalg.solve(q, tilt[..., None])[..., 0])
    return pose, tilt, nees_pose, nees_tilt


def height_errors(rows: Any) -> tuple[Any, Any]:
    """Return errors (T,) of z [m] and their normalised squares (T,) of rows."""
    error = rows[:, 26] - rows[:, 25]
    return error, error**2 / rows[:, 27]
