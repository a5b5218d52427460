"""Robots with other legs: their plans by the same search, and where plans are found.

A missing plan: test_plan_worker.py.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml

from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
from hexapod_dynamics.identification.transfer import transfer_library
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.simulation import Ground, Simulator, Truth
from hexapod_dynamics.tools import plan as tool

ROBOTS = Path(__file__).parents[1] / "robots"
QUADRUPED = Robot.load(ROBOTS / "quadruped.yaml")


@pytest.mark.parametrize("legs", [1, 2])
def test_a_robot_with_too_few_legs_is_refused_by_name(tmp_path, capsys, legs):
    content = yaml.safe_load((ROBOTS / "quadruped.yaml").read_text())
    content["leg_order"] = content["leg_order"][:legs]
    content["legs"] = {name: content["legs"][name] for name in content["leg_order"]}
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(content))
    words = f"quadruped: {legs} leg"
    with pytest.raises(HexapodError, match=words):
        AdaptiveGait().bind(Robot.load(path))
    assert tool.main(["--robot", str(path), "--out", str(tmp_path / "plans.yaml")]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "plans.yaml").exists()


def test_a_gait_without_a_plan_and_without_a_planner_warns():
    with pytest.warns(RobotWarning, match="no plan for the robot without a tripod.*ros2 run hexapod_dynamics plan"):
        AdaptiveGait(plans=PlanLibrary(QUADRUPED)).bind(QUADRUPED)
    with pytest.warns(RobotWarning, match="no plan for the robot without RM"):
        hexapod = Robot.jethexa()
        gait = AdaptiveGait(plans=PlanLibrary(hexapod)).bind(hexapod)
        gait.set_morphology(Morphology.whole(hexapod).without("RM"))


def test_plans_of_the_package_are_not_used_for_a_robot_of_that_name_that_was_edited(tmp_path):
    content = yaml.safe_load((ROBOTS.parents[1] / "config" / "phantomx.yaml").read_text())
    content["body"]["mass"] = 1.9
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(content))
    robot = Robot.load(file)
    with pytest.warns(RobotWarning, match="the plans are of another robot"):
        assert AdaptiveGait().bind(robot).doing == "standing"  # a tripod needs none
    assert find_library_file(robot, "plans") == (ROBOTS.parents[1] / "config" / "plans_phantomx.yaml", False)
    PlanLibrary(robot).save(tmp_path / "plans_phantomx.yaml")
    assert find_library_file(robot, "plans") == (tmp_path / "plans_phantomx.yaml", True)


def test_a_script_finds_the_plans_beside_a_robots_file_as_the_nodes_do(tmp_path):
    hexapod = Robot.jethexa()
    mine = dataclasses.replace(hexapod, name="labhex", body=dataclasses.replace(hexapod.body, mass=1.4))
    file = tmp_path / "labhex.yaml"
    file.write_text(robot_yaml(mine), encoding="utf-8")
    robot = Robot.load(file)
    transfer_library(PlanLibrary.load_for_robot(hexapod), robot)[0].save(tmp_path / "plans_labhex.yaml")
    gait = AdaptiveGait().bind(Robot.load(file), Morphology.whole(robot).without("RM", "LM"))
    assert gait.plan is not None and gait.doing != "sitting"
    assert not len(PlanLibrary.load_for_robot(dataclasses.replace(robot, gravity=9.8)))  # a changed robot has no file
    file.write_text(robot_yaml(dataclasses.replace(mine, gravity=9.8)), encoding="utf-8")
    with pytest.raises(HexapodError, match="another robot"):
        AdaptiveGait().bind(Robot.load(file))


def test_files_of_a_robot_are_found_from_another_directory_and_beside_a_link_to_its_file(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in ("shared", "mine", "elsewhere")]
    for folder in folders:
        folder.mkdir()
    shared, mine, elsewhere = folders
    mine_text = robot_yaml(dataclasses.replace(Robot.jethexa(), name="labhex"))
    (shared / "labhex.yaml").write_text(mine_text, encoding="utf-8")
    (mine / "labhex.yaml").symlink_to(shared / "labhex.yaml")
    plans = PlanLibrary(Robot.load(shared / "labhex.yaml"))
    for folder in (shared, mine):  # first only what the link leads to has plans, then both have
        plans.save(folder / "plans_labhex.yaml")
        monkeypatch.chdir(mine)
        robot = Robot.load("labhex.yaml")
        monkeypatch.chdir(elsewhere)
        assert find_library_file(robot, "plans") == (folder / "plans_labhex.yaml", True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["phantomx", "hexapod_sts3215", "octopod", "quadruped"])
def test_the_examples_walk_on_after_any_one_lost_leg(name):
    """On a heavier, softer robot than the model; a quadruped rows on three legs."""
    robot = Robot.load(ROBOTS.parents[1] / "config" / f"{name}.yaml")
    whole, seen = Morphology.whole(robot), {}
    for leg in robot.leg_names:
        gait = AdaptiveGait().bind(robot)
        truth = Truth(mass=1.08, stiffness=0.85, friction=0.7)
        options = {"timestep": 2e-3, "command_period": 0.02, "ground": Ground(friction=0.6), "truth": truth}
        sim = Simulator(robot, gait=gait, **options)
        gait.command(0.04, 0.0, 0.0)
        sim.run(3.0)
        sim.set_morphology(whole.without(leg))
        sim.run(10.0)
        report, start, rotation = sim.gait.report(), sim.position.copy(), sim.rotation.copy()
        seconds = 0.02 * round(3 * sim.gait.period / 0.02)
        angles = sim.run(seconds, log_every=5).euler_zyx
        share = (rotation.T @ (sim.position - start))[0] / seconds / float(report["followed"].split()[0])
        seen[leg] = round(float(share), 2), report["kind"], round(float(np.degrees(np.abs(angles[:, 1:]).max())), 1)
    print(name, seen)
    assert all(share > 0.75 and tilt < 6.0 for share, _, tilt in seen.values()), seen
