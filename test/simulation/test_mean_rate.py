"""What the simulated gyroscope feels between two samples: the mean rate makes the turn, rates of instants do not."""

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.se3 import rotation_from_vector, rotation_vector
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
