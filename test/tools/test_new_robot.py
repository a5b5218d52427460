"""The tool that makes a robot's file: from a foreign URDF, from answers, and what it finds wrong in one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from support.foreign_urdf import foreign_phantomx

from hexapod_dynamics import worker_processes
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.gait.planning import search
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools import new_robot as tool
from hexapod_dynamics.tools.commissioning import asked_robot
from hexapod_dynamics.tools.commissioning.file_checks import check_robot_file
from hexapod_dynamics.tools.commissioning.findings import Finding, all_passed

CONFIG = Path(__file__).parents[2] / "config"
ARGUMENTS = ["--most-lost", "0"]


def test_a_foreign_urdf_becomes_a_checked_file_and_the_launch_command_is_said(tmp_path, capsys):
    urdf, file = tmp_path / "other.urdf", tmp_path / "mine.yaml"
    urdf.write_text(foreign_phantomx())
    assert tool.main([str(file), "--urdf", str(urdf), *ARGUMENTS]) == 0
    said = capsys.readouterr().out
    assert "no leg: j_head_pan (1 moving joints" in said and "no leg: arm_1 (4 moving joints" in said
    assert f"ros2 launch hexapod_dynamics walk.launch.py view:=true robot:={file}" in said and "FAILED" not in said
    assert "in simulation, tilt up to" in said
    text = file.read_text()
    assert text.count("# CHECK") == 3 and "# Made by new_robot from other.urdf." in text
    assert Robot.load(file).name == "mine"
    assert tool.main([str(file), "--urdf", str(urdf)]) == 1
    assert "--force replaces it" in capsys.readouterr().err


def test_plans_come_beside_the_file_with_their_number_and_the_time_left(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tool, "_check_robot", lambda robot: True)
    file = tmp_path / "four.yaml"
    content = yaml.safe_load((CONFIG / "quadruped.yaml").read_text())
    file.write_text(yaml.safe_dump({**content, "name": "four", "body": {**content["body"], "mass": 1.3}}))

    stored = PlanLibrary.load(Robot.load(CONFIG / "quadruped.yaml"), CONFIG / "plans_quadruped.yaml")
    monkeypatch.setattr(worker_processes, "WorkerProcesses", ThreadPoolExecutor)
    monkeypatch.setattr(search, "make_plan", lambda _, lost: stored.find(lost))
    assert tool.main([str(file), "--check"]) == 0
    said = capsys.readouterr().out
    assert "3/3,    0 s left   without " in said and "without LF: row, period" in said
    assert len(PlanLibrary.load(Robot.load(file), tmp_path / "plans_four.yaml")) == 3


def test_answers_make_the_robot_and_wrong_ones_are_asked_again():
    answers = iter(["7", "x", "6", *[""] * 14])
    told = []
    given = asked_robot.ask(lambda _: next(answers), told.append)
    assert given == asked_robot.list_defaults() and len(told) == 2 and "from 4 to 12" in told[0]
    robot = asked_robot.make_robot_from_answers(given, "mine")
    assert robot.leg_names == Robot.jethexa().leg_names
    assert [leg.tripod_group for leg in robot.legs] == [leg.tripod_group for leg in Robot.jethexa().legs]
    for mine, theirs in zip(robot.legs, Robot.jethexa().legs, strict=True):
        assert mine.mount_position == pytest.approx(theirs.mount_position)
        assert mine.mount_rotation == pytest.approx(theirs.mount_rotation)
    assert all_passed(list(check_robot_file(robot)))
    for legs, first in ((4, "LF"), (8, "L1")):
        other = asked_robot.make_robot_from_answers(given | {"legs": legs, "leg_mass": 0.1}, "mine")
        assert other.leg_names[0] == first
    with pytest.raises(RobotError, match="6 legs of 1 kg: nothing is left for the body"):
        asked_robot.make_robot_from_answers(given | {"leg_mass": 1.0}, "mine")


@pytest.mark.parametrize(
    "change, check, seen",
    [
        (lambda c: c["body"].update(inertia=[2.5, 7.7, 9.4]), "masses", "radius of gyration"),
        (lambda c: c["legs"]["LF"].pop("servo_ids") and c["legs"]["LF"].pop("servo_directions"), "servos", "servo_ids"),
        (lambda c: c["leg_modules"]["phantomx_leg"][2]["joint"].update(limits=[0.5, 1.2]), "reach", "tibia"),
        (lambda c: c["servo"].update(torque_limit=0.4), "torques", "limit 0.40"),
        (lambda c: c["leg_modules"]["phantomx_leg"][1]["joint"].update(axis=[0, 1, 0]), "legs", "about z, -y, -y"),
    ],
)
def test_what_is_wrong_in_a_file_is_found(tmp_path, monkeypatch, change, check, seen):
    monkeypatch.setattr("hexapod_dynamics.tools.commissioning.file_checks._walk", lambda robot: Finding("walk", ""))
    content = yaml.safe_load((CONFIG / "phantomx.yaml").read_text())
    change(content)
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(content))
    found = [one for one in check_robot_file(Robot.load(file)) if one.remedy]
    assert [one.check for one in found] == [check] and seen in found[0].seen


@pytest.mark.parametrize("name", ["phantomx", "hexapod_sts3215", "octopod", "quadruped"])
def test_the_examples_have_plans_for_any_one_lost_leg(name):
    robot = Robot.load(CONFIG / f"{name}.yaml")
    library = PlanLibrary.load(robot, CONFIG / f"plans_{name}.yaml")
    assert all(library.find([leg]) is not None for leg in robot.leg_names)
