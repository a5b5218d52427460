"""What the simulated gyroscope feels between two samples: the mean rate makes the turn, rates of instants do not."""

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.sensed_imu import SensedImu

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.se3 import euler_zyx, rotation_from_vector, rotation_vector
from hexapod_dynamics.simulation import MujocoSimulator, Simulator


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_mean_rates_add_up_to_the_turn_and_rates_of_instants_do_not(physics):
    sim = physics(ROBOT, gait=TripodGait(), command_period=0.02)
    sim.run(1.0)
    turn, instants, start = np.eye(3), np.eye(3), sim.rotation.copy()
    for _ in range(400):
        sim.step(10)
        turn = turn @ rotation_from_vector(0.01 * sim.mean_angular_velocity)
        instants = instants @ rotation_from_vector(0.01 * sim.nu[3:6])
    true = start.T @ sim.rotation
    missed = [np.linalg.norm(rotation_vector(each.T @ true)) for each in (turn, instants)]
    assert missed[0] < np.radians(0.05) and missed[0] < 0.3 * missed[1]


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_reset_robot_does_not_turn(physics):
    sim = physics(ROBOT, gait=TripodGait(), command_period=0.02)
    sim.step(500)
    assert np.abs(sim.mean_angular_velocity).max() > 1e-3
    sim.reset()
    assert (sim.mean_angular_velocity == 0.0).all()


def test_the_sensed_attitude_is_that_of_the_robot():
    sim = MujocoSimulator(ROBOT, gait=TripodGait())
    sim.run(0.5)
    imu, errors = SensedImu(sim, ROBOT.imu.rotation, seed=1), []
    for k in range(1, 2001):
        sim.step(5)
        imu.follow(5e-3 * k)
        if k % 2 == 0:
            errors.append(np.subtract(euler_zyx(imu.attitude(5e-3 * k)), euler_zyx(sim.rotation)))
    yaw, *tilt = np.degrees(np.unwrap(errors, axis=0))[300:].T
    assert np.abs(tilt).max() < 0.5 and abs(yaw[-1] - yaw[0]) < 0.15


class Swinging:
    """A level body that turns to and fro by 0.3 rad about its z axis, once a second."""

    specific_force = np.array([0.0, 0.0, 9.81])
    yaw = before = 0.0

    @property
    def mean_angular_velocity(self):
        return np.array([0.0, 0.0, (self.yaw - self.before) / 5e-3])


def test_the_sensed_attitude_is_half_a_period_newer_than_its_sample():
    body = Swinging()
    imu, sensed = SensedImu(body, ROBOT.imu.rotation), []
    for k in range(1, 1001):
        body.yaw, body.before = 0.3 * np.sin(2 * np.pi * 5e-3 * k), body.yaw
        imu.follow(5e-3 * k)
        if k % 2 == 0:
            sensed.append((5e-3 * k, euler_zyx(imu.attitude(5e-3 * k))[0]))
    at, yaw = np.array(sensed)[200:].T

    ages = np.arange(-5e-3, 20e-3, 1e-4)
    age = min(ages, key=lambda age: (yaw - 0.3 * np.sin(2 * np.pi * (at - age))).std())
    # The filter turns on by the newest rate for a whole period, half of which lies after the rate's own time.
    assert age == pytest.approx(imu.delay - 5e-3, abs=1e-3)
