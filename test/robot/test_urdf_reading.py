"""Robots read from URDF have the dynamics that Pinocchio reads from the same text."""

from pathlib import Path

import numpy as np
import pytest
from support.urdf_agreement import compare_with_pinocchio

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Robot
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
