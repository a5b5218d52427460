"""A robot of a foreign URDF, in the frames that gaits expect: feet and inertias are Pinocchio's."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.foreign_urdf import PHANTOMX, foreign_phantomx

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.papers.closed_form import ClosedForm
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.robot.urdf_legs import robot_of_urdf, standard_leg

ROBOTS = Path(__file__).parents[1] / "robots"
TEXT = foreign_phantomx()
ROBOT, LEFT_OUT = robot_of_urdf(TEXT, "foreign")


def angles_of_urdf(q):
    """Angles (n,) of the URDF's joints for those of the robot, as its servos turn."""
    return [joint.servo_direction * (angle + joint.servo_zero) for joint, angle in zip(ROBOT.joints, q, strict=True)]


def pinocchio_of(q):
    model = pin.buildModelFromXML(TEXT, pin.JointModelFreeFlyer())
    theirs = pin.neutral(model)
    for name, angle in zip(ROBOT.joint_names, angles_of_urdf(q), strict=True):
        theirs[model.joints[model.getJointId(name)].idx_q] = angle
    return model, model.createData(), theirs


def test_legs_are_found_and_what_is_none_becomes_a_part_of_the_body():
    assert ROBOT.leg_names == ("lf", "lm", "lr", "rr", "rm", "rf")
    assert set(LEFT_OUT) == {"j_head_pan", "arm_1"}
    assert [leg.tripod_group for leg in ROBOT.legs] == [leg.tripod_group for leg in PHANTOMX.legs]
    np.testing.assert_allclose(ROBOT.body.mass, PHANTOMX.body.mass + 0.26)
    for ours, given in zip(ROBOT.legs, PHANTOMX.legs, strict=True):
        np.testing.assert_allclose(
            [link.length for link in ours.links], [link.length for link in given.links], atol=1e-6
        )
        limits = [[(j.lower, j.upper) for j in leg.joints] for leg in (ours, given)]
        np.testing.assert_allclose(*limits, atol=2e-6)


def test_feet_and_inertias_are_those_of_the_urdf():
    q = np.random.default_rng(3).uniform(-0.6, 0.6, ROBOT.joint_count)
    model, data, theirs = pinocchio_of(q)
    pin.framesForwardKinematics(model, data, theirs)
    middle = np.mean([data.oMi[model.getJointId(f"j_c1_{leg}")].translation for leg in ROBOT.leg_names], axis=0)
    for leg in ROBOT.leg_names:
        foot = data.oMf[model.getFrameId(f"foot_{leg.upper()}")].translation - middle
        mine = LegKinematics.from_robot(ROBOT, leg)
        np.testing.assert_allclose(mine.to_base(mine.forward(q[list(ROBOT.leg_joints(leg))])), foot, atol=5e-6)
    M = pin.crba(model, data, theirs)
    order = [model.joints[model.getJointId(name)].idx_v for name in ROBOT.joint_names]
    senses = np.array([joint.servo_direction for joint in ROBOT.joints])
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)] * np.outer(senses, senses)
    np.testing.assert_allclose(ClosedForm(Morphology.whole(ROBOT)).mass_matrix(q)[6:, 6:], M, atol=2e-7)


def test_its_file_is_read_back_with_comments(tmp_path):
    path = tmp_path / "foreign.yaml"
    path.write_text(robot_yaml(ROBOT, "Mine.", {"legs": "CHECK\nall"}))
    assert "# CHECK\n# all\nlegs:" in path.read_text()
    again = Robot.load(path)
    assert again.leg_names == ROBOT.leg_names and len({leg.module for leg in again.legs}) == 1
    np.testing.assert_allclose(ClosedForm(Morphology.whole(again)).mass_matrix(np.zeros(18)),
                               ClosedForm(Morphology.whole(ROBOT)).mass_matrix(np.zeros(18)), atol=1e-8)  # fmt: skip


def test_what_is_no_leg_is_refused_by_name():
    first = PHANTOMX.to_urdf().replace('xyz="0.0 0.0 1.0"', 'xyz="1.0 0.0 0.0"')
    with pytest.raises(
        RobotError, match="0 legs found, at least 3 needed: coxa_joint_LF: leg LF: its first joint turns"
    ):
        robot_of_urdf(first, "other")
    with pytest.raises(RobotError, match="2 joints; gaits need three"):
        standard_leg(Robot.load(ROBOTS / "octopod.yaml").legs[0])
