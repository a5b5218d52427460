"""A walk simulated by another physics engine, with sensors, an Observer that uses them, and its predictions.

The devices are as in the nodes: commands every 20 ms in counts, late by the bus; one servo read each 5 ms; the
simulated IMU at 100 Hz, by its driver, through the orientation filter. Beside it: odometry from leg kinematics alone,
integrated commands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from support.blind_walk import servo_zeros
from support.sensed_imu import SensedImu

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.estimation.observer import Observer, ObserverSettings
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import euler_zyx
from hexapod_dynamics.simulation import MujocoSimulator, Readings, Simulator, Truth

DELAY = 0.017
PHYSICS: dict[str, Any] = {"built_in": Simulator, "mujoco": MujocoSimulator}


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


class LegOdometry:
    """Planar motion of the body from joint angles alone: the feet that are lowest stand still."""

    def __init__(self, robot: Robot, morphology: Morphology) -> None:
        self.legs = []
        for leg in robot.legs:
            joints = robot.leg_joints(leg.name)
            if len(morphology.links(leg.name)) == len(leg.links):
                self.legs.append((LegKinematics.of(robot, leg.name), slice(joints.start, joints.stop)))
        self.pose = np.zeros(3)  # x, y, yaw
        self._before: np.ndarray | None = None

    def update(self, angles: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Take joint angles (n,) [rad] and the attitude (3, 3); returns x, y [m], yaw [rad]."""
        feet = np.array([leg.to_base(leg.forward(angles[joints])) for leg, joints in self.legs])
        if self._before is not None:
            heights = feet @ rotation[2]
            standing = heights < heights.min() + 0.004
            moved = (self._before - feet)[standing, :2]
            place = feet[standing, :2]
            centre = place.mean(axis=0)
            arm = place - centre
            turn = np.sum(arm[:, 0] * moved[:, 1] - arm[:, 1] * moved[:, 0]) / max(np.sum(arm**2), 1e-6)
            step = moved.mean(axis=0) - turn * np.array([-centre[1], centre[0]])
            cos, sin = np.cos(self.pose[2]), np.sin(self.pose[2])
            self.pose += [cos * step[0] - sin * step[1], sin * step[0] + cos * step[1], turn]
        self._before = feet
        return self.pose


class SensedWalk:
    """One run: `run(seconds)` appends rows to `rows`, ten a second. gait: a TripodGait by default, not bound.

    spread: of the Observer. known: the Robot that drivers, observer and feed-forward have, with servo zeros and the
    mounting of the IMU as identified; by default `robot`. A row: time, true x, y, yaw, roll, pitch, predicted the
    same five, x, y, yaw of odometry and of integrated commands, the level of doubt (0, 1, 2), then the covariance
    of (x, y, yaw) and of (roll, pitch), row by row, then true and predicted z and its variance: 34 numbers. True x, y,
    z and yaw are relative to the point of the ground below the robot at the observer's start.
    """

    logged, walks_at = 0.1, 1.0  # [s] between two rows, until the robot is told to walk

    def __init__(
        self,
        physics: str = "mujoco",
        truth: Any = None,
        *,
        seed: int = 0,
        velocity: float = 0.077,
        robot: Robot | None = None,
        gait: Any = None,
        spread: Any = None,
        known: Robot | None = None,
    ) -> None:
        hidden = robot or Robot.jethexa()
        self.robot = robot = known or hidden
        # What the servos read at a joint's zero, by the catalogue and by what is known.
        self._zeros = servo_zeros(robot) - servo_zeros(hidden)
        self.gait = (gait or TripodGait()).bind(hidden)
        self.truth = PHYSICS[physics](hidden, truth=truth)
        self.truth.reset(joints=self.gait.position + self._zeros)
        self.truth.step(500)
        self.readings = Readings(self.truth)
        self.imu = SensedImu(self.truth, hidden.imu.rotation, seed=seed, known=robot.imu.rotation)
        self.observer, self.forward = (
            Observer(robot, ObserverSettings(command_delay=DELAY, timestep=2e-3), spread),
            Feedforward(robot),
        )
        self.guard = PoseGuard.of_robot(robot)
        self.guard.synchronise_setpoint(np.zeros(18, int), self.gait.position.copy(), np.ones(18, bool))
        self.servos = ServoMap.from_robot(robot)
        self.odometry, self.dead = LegOdometry(robot, Morphology.whole(robot)), np.zeros(3)
        self.torques = np.zeros(18)
        self.sent: list[Any] = []
        self.frozen = False  # emergency stop
        self.rows: list[Any] = []
        self.said: dict[str, float] = {}  # doubts, and the time [s] of each one's first row
        self.velocity, self.ms, self._joint = velocity, 0, 0
        self._frame: Any = None  # of the world, at the observer's start: place and yaw
        self._read = self.readings.joints() - self._zeros

    def damage(self, morphology: Morphology, *, told: bool = False) -> None:
        """Break the robot; told: and its software."""
        self.truth.set_morphology(morphology)
        if told:
            self.observer.set_morphology(morphology.parameters())
            self.gait.set_morphology(morphology)
            self.forward.set_morphology(morphology)
            self.odometry = LegOdometry(self.robot, morphology)

    def freeze(self, frozen: bool, *, told: bool = True) -> None:
        """Hold the joints whatever is commanded, or execute the commands again, from the measured pose; told: and tell
        the observer.
        """
        self.frozen = frozen
        self.sent.clear()
        if not frozen:
            self.guard.synchronise_setpoint(np.full(18, self.ms), self._read, np.ones(18, bool))
        if told:
            self.observer.set_following(not frozen)

    def run(self, seconds: float) -> np.ndarray:
        """Walk on; returns the rows (T, 34) of this call."""
        first = len(self.rows)
        for _ in range(round(200 * seconds)):  # pieces of 5 ms
            t = 1e-3 * self.ms
            if self.ms % 20 == 0:
                if t >= self.walks_at:
                    self.gait.command(self.velocity, 0.0, 0.0)
                position, rates = self.gait.step(0.02)
                if not self.frozen:
                    setpoints = self.guard.update(position, self.torques, 0.02)
                    self.sent.append((t + 0.015, self.servos.quantised(setpoints)))
                self.observer.command(t, position, rates)
                twist, yaw = self.gait.twist, self.dead[2]
                cos, sin = np.cos(yaw), np.sin(yaw)
                vx, vy, wz = 0.02 * np.asarray(twist)
                self.dead += [cos * vx - sin * vy, sin * vx + cos * vy, wz]
            while self.sent and self.sent[0][0] <= t + 1e-9:
                self.truth.command(self.sent.pop(0)[1] + self._zeros, 0.02)
            self.truth.step(5)
            self.ms += 5
            self._sense(1e-3 * self.ms)
            if self.ms % round(1000 * self.logged) == 0 and self.observer.started:
                self._log(1e-3 * self.ms)
        return np.array(self.rows[first:])

    def _sense(self, t: float) -> None:
        self.imu.follow(t)
        angles = np.full(18, np.nan)
        now = self.readings.joints() - self._zeros
        if self.ms <= 200:
            angles[:] = now
        angles[self._joint] = self._read[self._joint] = now[self._joint]
        self._joint = (self._joint + 1) % 18
        self.observer.measure_joints(t, angles)
        if self.ms % 10:
            return
        self._sense_attitude(t)
        if not self.observer.advance(t):
            return
        if self._frame is None:
            x, y, _ = self.truth.position
            origin = np.array([x, y, self.truth.ground.height(x, y)])
            self._frame = origin, euler_zyx(self.truth.rotation)[0]
        observer, zero = self.observer, np.zeros(18)
        self.torques = self.forward.solve(
            observer.rotation,
            observer.position[2],
            observer.nu[:6],
            observer.commands.commanded,
            observer.commands.commanded_rate,
            zero,
            observer.q,
        ).copy()
        observer.feed_forward(self.torques)
        if self.ms % 20 == 0 and np.isfinite(self._read).all():
            self.odometry.update(self._read, observer.rotation)

    def _sense_attitude(self, t: float) -> None:
        attitude = self.imu.attitude(t)
        if self.ms > 300:
            self.observer.measure_attitude(t - self.imu.delay, attitude)
            self.observer.measure_motion(t - self.imu.delay, self.imu.acceleration, self.imu.rate)
            if isinstance(self.gait, AdaptiveGait):
                yaw, pitch, roll = euler_zyx(attitude)
                self.gait.sense(roll, pitch, yaw)

    def _log(self, t: float) -> None:
        place, heading = self._frame
        cos, sin = np.cos(heading), np.sin(heading)
        x, y, z = self.truth.position - place
        yaw, pitch, roll = euler_zyx(self.truth.rotation)
        true = [cos * x + sin * y, cos * y - sin * x, yaw - heading, roll, pitch]
        observer = self.observer
        yaw, pitch, roll = euler_zyx(observer.rotation)
        covariance = observer.covariance
        level, text = observer.confidence
        if text:
            self.said.setdefault(text, t)
        self.rows.append(
            [t, *true, observer.position[0], observer.position[1], yaw, roll, pitch]
            + [*self.odometry.pose, *self.dead, ("ok", "warn", "error").index(level)]
            + covariance[np.ix_([0, 1, 5], [0, 1, 5])].ravel().tolist()
            + covariance[3:5, 3:5].ravel().tolist()
            + [z, observer.position[2], covariance[2, 2]]
        )


def errors(rows: Any) -> tuple[Any, Any, Any, Any]:
    """Return pose errors (T, 3) x, y, yaw, tilt errors (T, 2) and their normalised squares (T,), (T,) of rows."""
    pose = rows[:, 6:9] - rows[:, 1:4]
    pose[:, 2] = (pose[:, 2] + np.pi) % (2 * np.pi) - np.pi
    tilt = rows[:, 9:11] - rows[:, 4:6]
    p, q = rows[:, 18:27].reshape(-1, 3, 3), rows[:, 27:31].reshape(-1, 2, 2)
    nees_pose = np.einsum("ti,ti->t", pose, np.linalg.solve(p, pose[..., None])[..., 0])
    nees_tilt = np.einsum("ti,ti->t", tilt, np.linalg.solve(q, tilt[..., None])[..., 0])
    return pose, tilt, nees_pose, nees_tilt


def height_errors(rows: Any) -> tuple[Any, Any]:
    """Return errors (T,) of z [m] and their normalised squares (T,) of rows."""
    error = rows[:, 32] - rows[:, 31]
    return error, error**2 / rows[:, 33]
