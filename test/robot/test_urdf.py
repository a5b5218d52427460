"""The URDF of a robot, loaded by programs that nobody here wrote, is the robot."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import random_robot
from support.urdf_agreement import compare_with_pinocchio

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree

MORPHOLOGIES = {
    "whole": WHOLE,
    "leg gone": WHOLE.without("RM"),
    "link gone": WHOLE.without("LM.femur"),
    "locked": WHOLE.locked("RF.tibia", 0.4).locked("LF.coxa", -0.3),
    "broken": WHOLE.broken("LF.tibia", 0.5),
}


@pytest.mark.parametrize("name", MORPHOLOGIES)
def test_pinocchio_reads_the_same_dynamics(name, tmp_path):
    """1e-9 relative: numbers are written with all digits, what is left are the roll-pitch-yaw angles of URDF."""
    (tmp_path / "robot.urdf").write_text(ROBOT.to_urdf(MORPHOLOGIES[name]))
    _, worst = compare_with_pinocchio(tmp_path / "robot.urdf", MORPHOLOGIES[name])
    assert worst.max() < 1e-9


@pytest.mark.skipif(shutil.which("check_urdf") is None, reason="sudo apt install liburdfdom-tools")
@pytest.mark.parametrize("name", MORPHOLOGIES)
def test_check_urdf_finds_one_tree_below_base_link(name, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(ROBOT.to_urdf(MORPHOLOGIES[name]))
    done = subprocess.run(["check_urdf", str(file)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "Successfully Parsed XML" in done.stdout, done.stdout + done.stderr
    assert "root Link: base_link has " in done.stdout
    listed = set(re.findall(r"child\(\d+\):\s+(\S+)", done.stdout))
    assert listed == set(LinkTree(ROBOT, MORPHOLOGIES[name]).children)


def test_the_tree_has_a_foot_for_each_leg_and_limits_of_the_servos():
    root = ET.fromstring(ROBOT.to_urdf(WHOLE.without("RM", "LM.tibia")))
    links = {link.get("name") for link in root.iter("link")}
    assert {f"foot_{leg}" for leg in ROBOT.leg_names if leg != "RM"} <= links
    assert not {"foot_RM", "coxa_link_RM", "tibia_link_LM"} & links
    limit = root.find("joint[@name='femur_joint_LF']/limit")
    assert float(limit.get("upper")) == ROBOT.legs[0].joints[1].upper
    assert float(limit.get("effort")) == ROBOT.servo.torque_limit


OTHER = Robot.load(Path(__file__).parents[1] / "robots" / "octopod.yaml")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ROBOT.to_urdf("whole"), ("morphology", "'whole'")),
        (lambda: ROBOT.to_mjcf("whole"), ("morphology", "'whole'")),
        (lambda: ROBOT.to_urdf(Morphology.whole(OTHER)), ("morphology", OTHER.name, "jethexa")),
        (lambda: ROBOT.to_mjcf(Morphology.whole(OTHER)), ("morphology", OTHER.name, "jethexa")),
        (lambda: ROBOT.to_mjcf(timestep=0.0), ("timestep", "0.0", "> 0")),
        (lambda: ROBOT.to_mjcf(friction=-1.0), ("friction", "-1.0", ">= 0")),
        (lambda: ROBOT.to_mjcf(payload=float("nan")), ("payload", "nan")),
        (lambda: ROBOT.to_mjcf(payload_position=(0.0, 1.0)), ("payload_position", "(2,)", "(3,)")),
        (lambda: ROBOT.to_mjcf(rotor_inertia="x"), ("rotor_inertia", "'x'")),
        (lambda: ROBOT.to_mjcf(extra="<geom"), ("extra", "'<geom'", "XML")),
        (lambda: random_robot(np.random.default_rng(0), 2, 4).to_mjcf(), ("j2_L0", "helical")),
        (lambda: random_robot(np.random.default_rng(0), 2, 4).to_urdf(), ("j2_L0", "helical")),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(call, named):
    with pytest.raises(RobotError) as refusal:
        call()
    for part in named:
        assert part in str(refusal.value)


def test_a_locked_joint_is_fixed_and_red():
    root = ET.fromstring(ROBOT.to_urdf(WHOLE.locked("RF.tibia", 0.4)))
    assert root.find("joint[@name='tibia_joint_RF']").get("type") == "fixed"
    assert {v.get("name") for v in root.findall("link[@name='tibia_link_RF']/visual/material")} == {"locked"}
    assert "locked" not in {v.get("name") for v in root.findall("link[@name='tibia_link_LF']/visual/material")}


@pytest.mark.parametrize("seed", range(5))
def test_the_feet_are_where_pinocchio_has_them(seed):
    """1e-12 m: both multiply a handful of matrices of order one."""
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, 18)
    morphology = WHOLE.without("RM", "LM.tibia").locked("RF.tibia", 0.4).broken("LF.tibia", 0.5)
    model = PinocchioRobot(morphology)
    pin.framesForwardKinematics(model.model, model.data, model.configuration(np.eye(3), q))
    ours = LinkTree(ROBOT, morphology).base_poses(q)
    assert "foot_RM" not in ours
    for leg in ("LF", "LM", "LR", "RR", "RF"):
        theirs = model.data.oMf[model.tips[leg]].homogeneous
        np.testing.assert_allclose(ours[f"foot_{leg}"], theirs, atol=1e-12)
