"""Logs before and after damage are one walk: joined, and drawn with a mark at the damage; files that are none."""

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Log, Simulator, TripodGait
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


def test_a_log_of_no_steps_joins_any_other():
    simulator = Simulator(Robot.jethexa())
    nothing, log = simulator.run(0.0), simulator.run(0.01)
    np.testing.assert_array_equal(Log.join(nothing, log, nothing).time, log.time)


@pytest.mark.parametrize("content", ["empty", "half", "one array", "other arrays"])
def test_a_file_that_no_log_has_written_is_named(tmp_path, content):
    path = tmp_path / "walk.npz"
    Simulator(Robot.jethexa()).run(0.01).save(path)
    if content in ("empty", "half"):
        path.write_bytes(path.read_bytes()[: 0 if content == "empty" else path.stat().st_size // 2])
    with path.open("ab") as file:
        if content == "one array":
            file.truncate(0)
            np.save(file, np.zeros(3))
        elif content == "other arrays":
            file.truncate(0)
            np.savez(file, q=np.zeros(3))
    with pytest.raises(HexapodError, match=r"walk\.npz is no file that Log\.save\(\) has written"):
        Log.load(path)
