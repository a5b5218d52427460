"""Exercises of a hidden robot in MuJoCo, recorded as the nodes of a real one record them."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.identification.exercise import Exercise
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth
from hexapod_dynamics.simulation.readings import Readings

CHAIN = 0.014  # [s] from a command to the servos' start without the Truth's delay
TICK = 0.005  # [s] between readings of two servos: each is read 22 times a second
# [s] by which a reading is later than its set-point, without the Truth's delay and the servo's lag: the chain; the
# encoder's age, 1 or 2 ms in turn, because the loop of 2 ms keeps it; less 1 ms, because the loop compares a set-point
# without delay with an encoder that is 1 ms old on average, and so damps by 1 ms less.
LATENCY = CHAIN + 1.5e-3 - 1e-3
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
        groups = self._sent, self._rows, self._imu  # in the order of the fields
        return Recording(*(np.array(column) for rows in groups for column in zip(*rows, strict=True)))


def record(robot: Robot, truth: Truth, exercise: Exercise, *, suspended: bool, seed: int = 0) -> Recording:
    """Recording of an exercise by a hidden robot."""
    rig = Rig(robot, truth, exercise.targets[0], suspended=suspended, seed=seed)
    rig.play(exercise.time, exercise.targets)
    return rig.recording()
