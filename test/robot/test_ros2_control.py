"""The <ros2_control> tag and the controllers: each joint that moves, with its limits."""

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.ros2_control import HARDWARE, add_ros2_control, controllers_yaml


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
