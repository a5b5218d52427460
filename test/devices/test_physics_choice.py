"""The simulated devices on either physics: the same bus and IMU, damage and pushes while time runs."""

import time

import numpy as np
import pytest

from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Truth

ROBOT = Robot.jethexa()


@pytest.mark.parametrize("physics", ["built_in", "mujoco"])
def test_it_stands_loses_a_leg_and_is_pushed(physics, tmp_path):
    truth = Truth(mass=1.1, payload=0.2, deadband=1.0, delay=0.01, friction=0.4)
    robot = SimulatedRobot(ROBOT, Morphology.whole(ROBOT), tmp_path, physics=physics, truth=truth)
    try:
        now = time.monotonic()
        robot.advance(now)
        for k in range(1, 6):
            robot.advance(now + 0.4 * k)
        standing = robot.truth()
        assert 0.10 < standing.position[2] < 0.125 and np.abs(standing.nu).max() < 0.05
        robot.update({"legs.RM": False})
        assert not robot.servos.present[12:15].any()
        robot.push([15.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.2)
        robot.advance(now + 2.2)
        assert robot.truth().position[0] > standing.position[0] + 0.003
        robot.advance(now + 2.6)
        robot.advance(now + 3.0)
        after = robot.truth()
        robot.advance(now + 3.4)
        assert np.linalg.norm(robot.truth().position - after.position) < 1e-3  # the push is over
    finally:
        robot.stop()


def test_an_unknown_physics_is_refused(tmp_path):
    with pytest.raises(HexapodError, match="'bullet' given, allowed are built_in, mujoco"):
        SimulatedRobot(ROBOT, Morphology.whole(ROBOT), tmp_path, physics="bullet")


@pytest.mark.parametrize("wrong", [{"truth": Truth.parse("ground=blocks:0.02")}, {"timestep": 1.0}])
def test_a_robot_whose_physics_is_refused_leaves_no_devices_behind(tmp_path, wrong):
    with pytest.raises(HexapodError, match="given"):
        SimulatedRobot(ROBOT, Morphology.whole(ROBOT), tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []
