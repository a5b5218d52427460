"""Simulated measurements: joint positions in counts, read one servo after the other; the IMU."""

import numpy as np


class Readings:
    """Readings of a Simulator or a MujocoSimulator.

    seed: of the noise. accelerometer_noise [m/s^2], gyro_noise [rad/s]: standard deviations of an MPU6050 at 100 Hz.
    """

    def __init__(self, simulator, *, seed=0, accelerometer_noise=0.033, gyro_noise=7e-4):
        self.simulator = simulator
        self._rng = np.random.default_rng(seed)
        self._noise = accelerometer_noise, gyro_noise
        self._latest = self.joints()
        self._next = 0

    def joints(self):
        """Return all joints' positions now (n,) [rad] in whole counts of the servos; NaN for those that are missing."""
        simulator = self.simulator
        count = simulator.robot.servo.resolution
        angles = np.round(simulator.q / count) * count if count else simulator.q.copy()
        angles[~simulator.morphology.existing_mask] = np.nan
        return angles

    def poll(self, servos=1):
        """Read the next servos as the bus does, round robin; return the latest readings (n,) [rad] of all."""
        angles = self.joints()
        for _ in range(servos):
            self._latest[self._next] = angles[self._next]
            self._next = (self._next + 1) % angles.size
        return self._latest

    def imu(self):
        """Return specific force (3,) [m/s^2] and angular rate (3,) [rad/s] in base_link axes, with noise."""
        accelerometer, gyro = self._noise
        noise = self._rng.normal(size=6)
        return (
            self.simulator.specific_force + accelerometer * noise[:3],
            self.simulator.angular_velocity + gyro * noise[3:],
        )

    def attitude(self):
        """Return the attitude (3, 3) world <- base_link without error: what a perfect orientation filter would give."""
        return self.simulator.rotation.copy()
