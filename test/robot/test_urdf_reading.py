"""Robots read from URDF have the dynamics that Pinocchio reads from the same text; the URDF of a robot, loaded by
programs that nobody here wrote, is the robot; its <ros2_control> tag has each joint that moves, with its limits.
"""

import dataclasses
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.programs import run
from support.random_robots import random_robot
from support.urdf_agreement import compare_with_pinocchio

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.robot.ros2_control import HARDWARE, add_ros2_control, controllers_yaml
from hexapod_dynamics.se3 import rotation_about
from hexapod_dynamics.view.scene import read_description

ROBOTS = Path(__file__).parents[1] / "robots"
# A body whose centre of mass is off its frame, a mast that is fixed to it, two legs of 2 and 3 joints with feet.
SPIDER = """<robot name="spider">
<link name="trunk"><inertial><origin xyz="0.02 -0.01 0.03" rpy="0.1 0 0.2"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
<link name="mast"><inertial><origin xyz="0 0 0.1"/><mass value="0.3"/>
  <inertia ixx="0.002" iyy="0.002" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="mast_joint" type="fixed"><parent link="trunk"/><child link="mast"/><origin xyz="0 0 0.05" rpy="0 0.3 0"/>
</joint>
{legs}</robot>"""
LEG = """<joint name="hip_{n}" type="revolute"><parent link="trunk"/><child link="thigh_{n}"/>
  <origin xyz="0.1 {y} 0" rpy="0.2 0.1 {yaw}"/><axis xyz="0 0.6 0.8"/>
  <limit lower="-1" upper="2" effort="5" velocity="7"/>
</joint>
<link name="thigh_{n}"><inertial><origin xyz="0.05 0.01 0"/><mass value="0.2"/>
  <inertia ixx="0.0001" iyy="0.0003" izz="0.00035" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="knee_{n}" type="continuous"><parent link="thigh_{n}"/><child link="shin_{n}"/>
  <origin xyz="0.1 0.02 -0.03" rpy="0 0 0.4"/><axis xyz="1 0 0"/></joint>
<link name="shin_{n}"><inertial><origin xyz="0 0 -0.06"/><mass value="0.1"/>
  <inertia ixx="0.0002" iyy="0.0002" izz="0.00005" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="foot_joint_{n}" type="fixed"><parent link="shin_{n}"/><child link="foot_{n}"/>
  <origin xyz="0 0 -0.12"/></joint>
<link name="foot_{n}"><inertial><mass value="0.01"/>
  <inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
TEXT = SPIDER.format(legs=LEG.format(n="L", y=0.1, yaw=0.5) + LEG.format(n="R", y=-0.1, yaw=-0.5))


@pytest.mark.parametrize("source", ["spider", "jethexa", "quadruped_with_sliders.yaml"])
def test_masses_gravity_and_accelerations_are_pinocchios(source, tmp_path):
    path = tmp_path / "robot.urdf"
    if source == "spider":
        path.write_text(TEXT)
    else:
        path.write_text((Robot.jethexa() if source == "jethexa" else Robot.load(ROBOTS / source)).to_urdf())
    robot, worst = compare_with_pinocchio(path)
    assert worst.max() < 1e-9
    assert robot.body.com.any() == (source == "spider")  # the frame stays where the file has it
    moved = Robot.from_urdf(path)  # to the centre of mass of the same body
    assert not moved.body.com.any() and moved.body.mass == robot.body.mass
    np.testing.assert_array_equal(moved.body.inertia, robot.body.inertia)
    for leg, there in zip(moved.legs, robot.legs, strict=True):
        np.testing.assert_allclose(leg.mount_position, there.mount_position - robot.body.com, atol=1e-15)
        np.testing.assert_array_equal(leg.mount_rotation, there.mount_rotation)


def test_an_axis_of_any_length_turns_the_view_by_the_angle():
    _, tree = read_description(TEXT.replace('xyz="1 0 0"', 'xyz="2 0 0"'))
    knees = [link for link in tree.list_subtree() if link.joint.startswith("knee")]
    for knee in knees:
        turn = knee.pose[:3, :3].T @ knee.pose_at(0.5)[:3, :3]
        np.testing.assert_allclose(turn, rotation_about(0, 0.5), atol=1e-12)
    assert len(knees) == 2


def test_limits_that_are_both_zero_are_none():
    robot = Robot.from_urdf(TEXT.replace('lower="-1" upper="2"', ""))
    assert (robot.legs[0].joints[0].lower, robot.legs[0].joints[0].upper) == (-np.pi, np.pi)


def test_what_to_urdf_writes_is_read_back():
    robot = Robot.jethexa()
    again = Robot.from_urdf(robot.to_urdf(), legs={leg.name: leg.joints[0].name for leg in robot.legs})
    assert again.leg_names == robot.leg_names and again.joint_names == robot.joint_names
    for leg, read in zip(robot.legs, again.legs, strict=True):
        assert read.link_names == leg.link_names
        for link, other in zip(leg.links, read.links, strict=True):
            assert other.length == pytest.approx(link.length, abs=1e-12) and other.mass == link.mass
    assert again.servo.torque_limit == robot.servo.torque_limit
    assert Robot.from_urdf(robot.to_urdf()).leg_names == robot.leg_names  # found, not named


def test_a_file_is_read_and_its_legs_are_found(tmp_path):
    path = tmp_path / "spider.urdf"
    path.write_text(TEXT)
    robot = Robot.from_urdf(path)
    assert Robot.from_urdf(TEXT.replace('"spider"', '"a/spider"')).name == "a_spider"
    assert robot.name == "spider" and robot.leg_names == ("L", "R")
    for text in (TEXT, TEXT.replace('"thigh_L"', '"L/thigh"').replace('"shin_L"', '"shin_link_L"')):
        assert Robot.from_urdf(text).legs[0].link_names == ("thigh", "shin")
    assert robot.legs[0].links[1].length == pytest.approx(0.12)  # to the foot
    assert robot.body.mass == pytest.approx(2.3)


@pytest.mark.parametrize(
    ("text", "legs", "named"),
    [
        ("no such file.urdf", None, ("no such file.urdf", "cannot be read")),
        ("<robot", None, ("not XML",)),
        ("<sdf/>", None, ("<sdf>", "<robot> needed")),
        (TEXT, {"A": "hip_X"}, ("legs.A", "hip_X", "hip_L")),
        (TEXT, {"A": "hip_L"}, ("hip_R", "belong to no leg")),
        (TEXT, ["hip_L"], ("legs:", "dict")),
        (TEXT.replace('<parent link="shin_L"/>', '<parent link="shank"/>'), None, ("foot_joint_L", "shank")),
        (TEXT.replace('value="0.2"', 'value="nan"', 1), None, ("thigh_L", "nan")),
        (TEXT.replace('value="0.2"', 'value="-0.2"', 1), None, ("thigh_L", "mass -0.2 kg", "below 0")),
        (TEXT.replace('ixx="0.0001"', 'ixx="0.001"', 1), None, ("leg L, thigh_L", "triangle inequality")),
        (TEXT.replace('name="knee_R" type="continuous"><parent link="thigh_R"/>', 'name="knee_R" type="continuous">'
                      '<parent link="shin_L"/>').replace('type="fixed"><parent link="shin_L"/>', 'type="revolute">'
                      '<parent link="shin_L"/><limit lower="-1" upper="1"/>'), None, ("shin_L", "one chain")),
        ('<robot name="x"><link name="a"/></robot>', None, ("link a", "no mass")),
    ],
)  # fmt: skip
def test_what_is_no_legged_robot_is_refused_by_name(text, legs, named):
    with pytest.raises(RobotError) as refusal:
        Robot.from_urdf(text, legs)
    for part in named:
        assert part in str(refusal.value)


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
    done = run("check_urdf", str(file), timeout=20)
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


@pytest.mark.parametrize("hardware", HARDWARE)
def test_each_joint_that_moves_has_its_limits_and_interfaces(hardware):
    morphology = WHOLE.without("RM").locked("LF.tibia", 0.3)
    system = ET.fromstring(add_ros2_control(ROBOT.to_urdf(morphology), ROBOT, hardware)).find("ros2_control")
    assert system.get("type") == "system" and system.find("hardware/plugin").text == HARDWARE[hardware][0]
    named = [joint.get("name") for joint in system.findall("joint")]
    assert named == [name for name in ROBOT.joint_names if "RM" not in name and name != "tibia_joint_LF"]
    limits = {joint.name: (joint.lower, joint.upper) for joint in ROBOT.joints}
    for joint in system.findall("joint"):
        command = joint.find("command_interface")
        assert command.get("name") == "position"
        found = {param.get("name"): float(param.text) for param in command}
        assert (found["min"], found["max"]) == limits[joint.get("name")]
        assert [state.get("name") for state in joint.findall("state_interface")] == ["position", "velocity"]


def test_a_joint_without_limits_has_none():
    legs = [
        dataclasses.replace(
            leg, joints=(dataclasses.replace(leg.joints[0], lower=-np.inf, upper=np.inf), *leg.joints[1:])
        )
        for leg in ROBOT.legs
    ]
    free = dataclasses.replace(ROBOT, legs=legs)
    system = ET.fromstring(add_ros2_control(free.to_urdf(), free, "mock")).find("ros2_control")
    bounded = [len(joint.findall("command_interface/param")) for joint in system.findall("joint")]
    assert bounded == [0, 2, 2] * 6


def test_a_reader_of_the_model_is_not_disturbed():
    assert Robot.from_urdf(add_ros2_control(ROBOT.to_urdf(), ROBOT, "mock")).joint_names == ROBOT.joint_names


def test_the_controllers_have_the_robots_joints_in_its_order():
    read = yaml.safe_load(controllers_yaml(ROBOT))
    kinds = read["controller_manager"]["ros__parameters"]
    for name, section in read.items():
        if name == "controller_manager":
            continue
        assert kinds[name]["type"].split("/")[0] in name + "forward_command_controller"
        assert section["ros__parameters"]["joints"] == list(ROBOT.joint_names)
