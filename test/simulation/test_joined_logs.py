"""Logs before and after damage are one walk: joined, and drawn with a mark at the damage."""

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait
from hexapod_dynamics.view import plot_walk


def test_two_logs_of_a_walk_are_joined_and_drawn_in_one_call(tmp_path):
    robot = Robot.jethexa()
    simulator = Simulator(robot, gait=TripodGait())
    whole = simulator.run(0.5)
    simulator.set_morphology(Morphology.whole(robot).without("RM"))
    hurt = simulator.run(0.3)
    log = plot_walk(tmp_path / "walk.png", robot, {"whole": whole, "without RM": hurt})
    assert (tmp_path / "walk.png").stat().st_size > 10_000
    assert len(log.time) == len(whole.time) + len(hurt.time) and np.all(np.diff(log.time) > 0.0)
    np.testing.assert_array_equal(log.position[-1], hurt.position[-1])
    with pytest.raises(HexapodError, match="a log begins before"):
        type(log).join(hurt, whole)
    with pytest.raises(HexapodError, match="no log given"):
        type(log).join()
