"""What is drawn of a walk is what the walk was."""

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Simulator, TripodGait
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.tools.plot import main
from hexapod_dynamics.view.record import from_log

ROBOT = Robot.jethexa()


@pytest.fixture(scope="module")
def log():
    return Simulator(ROBOT, gait=TripodGait()).run(2.6)


def test_a_log_is_read_as_it_was_saved(log, tmp_path):
    log.save(tmp_path / "walk.npz")
    again = Log.load(tmp_path / "walk.npz")
    for name in Log.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))


def test_the_gait_diagram_of_a_tripod_has_two_groups_of_three(log):
    record = from_log(log, ROBOT)
    record.foot_forces = None  # as from a bag: from joints and attitude alone
    legs, time, standing = record.standing(ROBOT)
    standing = standing[time > 1.3]
    groups = {leg: k for k, leg in enumerate(legs)}
    together = np.mean(standing[:, groups["LF"]] == standing[:, groups["LR"]])
    apart = np.mean(standing[:, groups["LF"]] == standing[:, groups["LM"]])
    assert together > 0.9
    assert apart < 0.5


def test_plot_writes_a_picture_and_names_what_is_no_walk(log, tmp_path, capsys):
    log.save(tmp_path / "walk.npz")
    assert main([str(tmp_path / "walk.npz")]) == 0
    assert (tmp_path / "walk.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "other.npz").write_text("nothing")
    assert main([str(tmp_path / "other.npz")]) == 1
    assert "Log.save()" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty")]) == 1
    assert "no bag that can be read" in capsys.readouterr().err


def test_a_log_of_another_robot_is_refused(log):
    octopod = ROBOT.with_leg("X", like="LF", position=[0.0, 0.0, 0.1], yaw=0.0)
    with pytest.raises(HexapodError, match="18 joints"):
        from_log(log, octopod)
