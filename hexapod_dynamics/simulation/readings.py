"""Simulated measurements: joint positions in counts, read one servo after the other; the IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hexapod_dynamics.simulation.robot_simulator import RobotSimulator


ACCELEROMETER, GYROSCOPE = 0.033, 7e-4  # noise [m/s^2], [rad/s] of an MPU6050 at 100 Hz, by its data sheet


class Readings:
    """Readings of a Simulator or a MujocoSimulator; seed: of the noise."""

    def __init__(self, simulator: RobotSimulator, *, seed: int = 0) -> None:
        self.simulator = simulator
        self._rng = np.random.default_rng(seed)
        self._latest = self.joints()
        self._next = 0

    def joints(self) -> np.ndarray:
        """Return the present positions (n,) [rad] of all joints in whole counts of the servos; NaN for missing
        joints.
        """
        simulator = self.simulator
        count = simulator.robot.servo.resolution
        measured = simulator.readings
        angles = np.round(measured / count) * count if count else measured.copy()
        angles[~simulator.morphology.existing_mask] = np.nan
        return angles

    def poll(self, servos: int = 1) -> np.ndarray:
        """Read the next servos round robin, as on the bus; return the latest readings (n,) [rad] of all."""
        angles = self.joints()
        for _ in range(servos):
            self._latest[self._next] = angles[self._next]
            self._next = (self._next + 1) % angles.size
        return self._latest

    def imu(self) -> tuple[np.ndarray, np.ndarray]:
        """Return specific force (3,) [m/s^2] and angular rate (3,) [rad/s] in base_link axes, with noise.

        Both are means over the simulator's last call of `step`; the noise is that of an MPU6050 at 100 Hz.
        """
        noise = np.array([[ACCELEROMETER], [GYROSCOPE]]) * self._rng.normal(size=(2, 3))
        return self.simulator.specific_force + noise[0], self.simulator.mean_angular_velocity + noise[1]
