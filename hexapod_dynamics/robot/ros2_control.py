"""Descriptions of a robot for ros2_control: the <ros2_control> tag in its URDF, and the file of its controllers.

ros2_control's manager drives the joints by one of the components below; this package sends set-points to its
controllers by topics (docs/foreign.md). Names are those of ROS 2 Humble and Jazzy.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from types import MappingProxyType

import yaml

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.urdf import add, format_document

TOPICS = {"joint_commands_topic": "/device/joint_commands", "joint_states_topic": "/device/joint_states"}
# By the name of the hardware: the plugin, and its parameters.
HARDWARE: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "mock": ("mock_components/GenericSystem", {}),
        "topic_based": ("topic_based_ros2_control/TopicBasedSystem", TOPICS),
        "joint_state_topic": ("joint_state_topic_hardware_interface/JointStateTopicSystem", TOPICS),
        "mujoco": ("mujoco_ros2_control/MujocoSystem", {}),
    }
)
# By the parameter command_interface of `servos`: name of the controller and its type.
CONTROLLERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "commands": ("forward_position_controller", "forward_command_controller/ForwardCommandController"),
        "joint_trajectory": ("joint_trajectory_controller", "joint_trajectory_controller/JointTrajectoryController"),
    }
)
BROADCASTER = "joint_state_broadcaster"


def add_ros2_control(urdf: str, robot: Robot, hardware: str) -> str:
    """URDF text with a <ros2_control> tag: for each joint, position is commanded, position and velocity are
    measured.

    hardware: a name of HARDWARE; joints that the URDF fixes (locked, missing) are left out. RobotError for another
    name.
    """
    if hardware not in HARDWARE:
        raise RobotError(f"ros2_control: {hardware!r} given, allowed are {', '.join(HARDWARE)}")
    root = ET.fromstring(urdf)
    moving = {joint.get("name") for joint in root.iter("joint") if joint.get("type") not in ("fixed", None)}
    plugin, parameters = HARDWARE[hardware]
    system = add(root, "ros2_control", name=robot.name, type="system")
    component = add(system, "hardware")
    add(component, "plugin").text = plugin
    for name, value in parameters.items():
        add(component, "param", name=name).text = value
    for joint in (joint for joint in robot.joints if joint.name in moving):
        element = add(system, "joint", name=joint.name)
        command = add(element, "command_interface", name="position")
        for bound, limit in (("min", joint.lower), ("max", joint.upper)):
            if math.isfinite(limit):  # ros2_control cannot read inf
                add(command, "param", name=bound).text = repr(float(limit))
        for measured in ("position", "velocity"):
            add(element, "state_interface", name=measured)
    return format_document(root)


CONTROLLERS_HEAD = """\
# Controllers of the JetHexa for ros2_control, written by `python -m hexapod_dynamics.tools.parameter_files`.
# ros2_control.launch.py makes the same for the robot of its argument `robot`.
"""


def controllers_yaml(robot: Robot) -> str:
    """Return the parameter file of controller_manager and of the controllers; config/ros2_control.yaml is that of the
    JetHexa. The controllers stay active even if a lost joint is no longer measured.
    """
    kinds: dict[str, object] = {"update_rate": 100, BROADCASTER: {"type": f"{BROADCASTER}/JointStateBroadcaster"}}
    kinds |= {name: {"type": kind} for name, kind in CONTROLLERS.values()}
    forward, trajectory = (CONTROLLERS[interface][0] for interface in ("commands", "joint_trajectory"))
    nodes: dict[str, dict[str, object]] = {
        "controller_manager": kinds,
        forward: {"joints": list(robot.joint_names), "interface_name": "position"},
        trajectory: {
            "joints": list(robot.joint_names),  # a list of its own, because a parameter file may not have aliases
            "command_interfaces": ["position"],
            "state_interfaces": ["position", "velocity"],
            "allow_partial_joints_goal": True,
            "open_loop_control": True,
        },
    }
    files = {name: {"ros__parameters": values} for name, values in nodes.items()}
    return yaml.safe_dump(files, sort_keys=False, width=120)
