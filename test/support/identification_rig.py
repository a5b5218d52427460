"""Exercises of a hidden robot in MuJoCo, recorded as the nodes of a real one record them."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.identification import Identification, Payload, PayloadEstimator
from hexapod_dynamics.identification.exercise import Exercise
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import MujocoSimulator, Truth
from hexapod_dynamics.simulation.readings import Readings

CHAIN = 0.014  # [s] from a command to the servos' start without the Truth's delay
TICK = 0.005  # [s] between readings of two servos: each is read 22 times a second
HELD = 1e6  # [kg, kg m^2] added to the body's inertia: it hangs from the ceiling


class Rig:
    """A hidden robot whose motion is recorded. suspended: its body is held half a metre over the ground."""

    def __init__(self, robot: Robot, truth: Truth, joints: np.ndarray, *, suspended: bool, seed: int = 0) -> None:
        self.sim = MujocoSimulator(robot, timestep=1e-3, truth=truth, quantised=True)
        self.sim.reset(joints=joints - truth.zeros(robot.joint_count), position=[0.0, 0.0, 0.5] if suspended else None)
        if suspended:
            self.sim.model.dof_armature[:6] = HELD
        self.robot, self._rows, self._imu, self._sent = robot, [], [], []
        self._sensors = Readings(self.sim, seed=seed)
        self._chip = np.asarray(robot.imu.rotation) @ truth.chip_bias()
        self.sim.command(joints, 0.02)
        self.sim.step(300)
        self._next = 0

    def play(self, time: np.ndarray, targets: np.ndarray) -> None:
        """Send targets (T, n) [rad] at times (T,) [s], 20 ms apart, and record."""
        for row in targets:
            self._sent.append((self.sim.time - CHAIN, row))
            self.sim.command(row, 0.02)
            for _ in range(4):
                self.sim.step(5)
                angles = self._sensors.joints()
                for _ in range(2):
                    self._rows.append((self.sim.time, self._next, angles[self._next]))
                    self._next = (self._next + 1) % len(angles)
                force, rate = self._sensors.imu()
                self._imu.append((self.sim.time, force, rate + self._chip))

    def recording(self) -> Recording:
        """Everything until now."""
        times, joints, angles = zip(*self._rows, strict=True)
        stamps, forces, rates = zip(*self._imu, strict=True)
        sent, commands = zip(*self._sent, strict=True)
        return Recording(
            np.array(sent),
            np.array(commands),
            np.array(times),
            np.array(joints, np.intp),
            np.array(angles),
            np.array(stamps),
            np.array(forces),
            np.array(rates),
        )


def record(robot: Robot, truth: Truth, exercise: Exercise, *, suspended: bool, seed: int = 0) -> Recording:
    """Recording of an exercise by a hidden robot."""
    rig = Rig(robot, truth, exercise.targets[0], suspended=suspended, seed=seed)
    rig.play(exercise.time, exercise.targets)
    return rig.recording()


def loaded_walk(
    robot: Robot,
    result: Identification,
    truth: Truth,
    load: tuple[float, float, float],
    *,
    empty: float = 15.0,
    loaded: float = 20.0,
    seed: int = 0,
) -> Payload:
    """What is estimated after a walk of a hidden robot: empty (tare), then with load: mass [kg], x, y [m] on its body.

    result: its Identification, by whose zero offsets it is commanded and read.
    """
    known = result.robot
    zeros = np.array([joint.servo_zero for leg in known.legs for joint in leg.joints])
    sim = MujocoSimulator(robot, timestep=1e-3, truth=truth, quantised=True)
    gait = AdaptiveGait().bind(robot)
    gait.reset(walking=True)
    gait.command(0.05, 0.0, 0.0)
    sim.reset(joints=gait.position + zeros - truth.zeros(robot.joint_count))
    estimator, sensors, following = PayloadEstimator(known), Readings(sim, seed=seed), 0
    for tick in range(round((empty + loaded) / 0.02)):
        upright = sim.rotation
        if tick == round(empty / 0.02):
            estimator.tare()
            estimator.restart()
        if tick >= round(empty / 0.02):
            force = upright.T @ [0.0, 0.0, -robot.gravity * load[0]]
            sim.push(np.concatenate([force, np.cross([load[1], load[2], 0.05], force)]))
        gait.sense(*roll_pitch_yaw(upright))
        targets = gait.step(0.02)[0].copy()
        estimator.command(sim.time - CHAIN, targets)
        sim.command(targets + zeros, 0.02)
        for _ in range(4):
            sim.step(5)
            angles = sensors.joints() - zeros
            for _ in range(2):
                estimator.measure_joint(sim.time, following, angles[following])
                following = (following + 1) % len(angles)
        estimator.measure_up(upright.T @ [0.0, 0.0, 1.0])
    return estimator.estimate()
