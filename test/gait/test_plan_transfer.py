"""An identified robot keeps the plans and manoeuvres of the robot that it was begun with, as far as they hold."""

import dataclasses

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.identification.transfer import compute_margin, transfer_library, transfer_manoeuvres
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.simulation import MujocoSimulator

LIBRARY = PlanLibrary.load_for_robot(ROBOT)


def other_masses(seed=3, name="mine", heavier=1.0):
    """The JetHexa with other links (+-25 %), its body 2 cm off its middle."""
    random = np.random.default_rng(seed)
    legs = tuple(
        dataclasses.replace(
            leg,
            links=tuple(dataclasses.replace(one, mass=one.mass * random.uniform(0.75, 1.25)) for one in leg.links),
        )
        for leg in ROBOT.legs
    )
    centre = np.array([*random.uniform(-0.02, 0.02, 2), 0.0])
    body = dataclasses.replace(ROBOT.body, mass=heavier * ROBOT.body.mass, com=centre)
    return dataclasses.replace(ROBOT, name=name, legs=legs, body=body)


@pytest.mark.parametrize("seed", [0, 3])
def test_plans_keep_a_margin_where_the_feet_move_with_the_centre_of_mass(seed):
    robot = other_masses(seed)
    plans, left = transfer_library(LIBRARY, robot)
    assert len(plans) == len(LIBRARY.with_images()) and not left
    assert min(plan.margin for plan in plans) > 0.0042
    assert min(compute_margin(robot, plan, share=1.0) for plan in LIBRARY) < 0.003  # with the feet where they were


def test_a_plan_without_a_margin_is_left_out_and_its_set_of_legs_named():
    legs = list(ROBOT.legs)
    heavy = tuple(dataclasses.replace(one, mass=6.0 * one.mass) for one in legs[0].links)
    legs[0] = dataclasses.replace(legs[0], links=heavy)
    plans, left = transfer_library(LIBRARY, dataclasses.replace(ROBOT, name="mine", legs=tuple(legs)))
    assert left and all(set(lost) <= set(ROBOT.leg_names) for lost in left)
    assert len(plans) + len(left) == len(LIBRARY.with_images())


def test_the_robot_walks_by_them_without_two_legs(tmp_path):
    robot = other_masses(0)
    plans, _ = transfer_library(LIBRARY, robot)
    plans.save(tmp_path / "plans_mine.yaml")
    gait = AdaptiveGait(plans=tmp_path / "plans_mine.yaml").bind(robot)
    lost = Morphology.whole(robot).without("RR", "RM")
    gait.set_morphology(lost)
    assert gait.plan is not None and "RR" not in gait.plan.legs
    simulator = MujocoSimulator(robot, lost, gait=gait)
    gait.command(0.06, 0.0, 0.0)
    simulator.run(2.0)
    begin, tilt = simulator.position.copy(), []
    for _ in range(40):
        simulator.run(0.1)
        tilt.append(np.arccos(simulator.rotation[2, 2]))
    assert np.linalg.norm(simulator.position - begin) > 0.9 * 0.06 * 4.0 and max(tilt) < np.radians(6.0)


def test_another_shape_and_a_robot_that_is_too_heavy_are_refused_with_the_reason():
    with pytest.raises(HexapodError, match="different legs"):
        transfer_library(LIBRARY, Robot.load("config/octopod.yaml"))
    longer = dataclasses.replace(ROBOT, name="mine", body=dataclasses.replace(ROBOT.body, box=(0.3, 0.2, 0.1)))
    with pytest.raises(HexapodError, match="body's box"):
        transfer_library(LIBRARY, longer)
    manoeuvres = GetUpLibrary.load_for_robot(ROBOT)
    assert list(transfer_manoeuvres(manoeuvres, other_masses())) == list(manoeuvres)
    with pytest.raises(HexapodError, match="times the mass"):
        transfer_manoeuvres(manoeuvres, other_masses(heavier=2.0))


def test_manoeuvres_beside_a_robots_file_are_its_own_and_those_of_other_numbers_are_not(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(robot_yaml(other_masses()), encoding="utf-8")
    robot = Robot.load(file)
    assert not list(GetUpLibrary.load_for_robot(robot))
    transfer_manoeuvres(GetUpLibrary.load_for_robot(ROBOT), robot).save(tmp_path / "get_up_mine.yaml")
    assert GetUpLibrary.load_for_robot(robot).choose({"RM": {0, 1, 2}})
    file.write_text(robot_yaml(other_masses(seed=1)), encoding="utf-8")
    with pytest.raises(HexapodError, match="another robot"):
        GetUpLibrary.load_for_robot(Robot.load(file))
    with pytest.warns(RobotWarning, match="none of these manoeuvres is used"):
        assert not list(GetUpLibrary.load_for_robot(dataclasses.replace(robot, name="jethexa")))
