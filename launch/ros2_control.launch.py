"""Starts ros2_control's manager with this robot's joints, and walk.launch.py hardware:=topics on top of it.

    ros2 launch hexapod_dynamics ros2_control.launch.py component:=mock imu:=none

docs/foreign.md says which component is for what.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from ament_index_python.packages import get_package_share_directory
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.ros.launch_process import find_missing, refuse_undeclared, write_file

PACKAGE = "hexapod_dynamics"
COMPONENTS = ("mock", "topic_based", "joint_state_topic", "mujoco")
INTERFACES = ("commands", "joint_trajectory")
NEEDED = ("controller_manager", "joint_state_broadcaster", "forward_command_controller", "joint_trajectory_controller")
ARGUMENTS = [
    DeclareLaunchArgument(
        "component",
        default_value="mock",
        choices=list(COMPONENTS),
        description="hardware component of ros2_control that moves the joints",
    ),
    DeclareLaunchArgument(
        "command_interface",
        default_value="commands",
        choices=list(INTERFACES),
        description="commands: forward_position_controller; joint_trajectory: joint_trajectory_controller",
    ),
    DeclareLaunchArgument("robot", default_value="", description="YAML file of the robot; empty: the JetHexa"),
    DeclareLaunchArgument("imu", default_value="topic_raw", description="as of walk.launch.py: topic_raw, topic, none"),
    DeclareLaunchArgument(
        "detect",
        default_value="auto",
        choices=["auto", "declare", "report", "off"],
        description="as of walk.launch.py: declare what the damage detector finds, report it, or off; auto: report",
    ),
    DeclareLaunchArgument("velocity", default_value="0", description="forward speed [m/s] until the first cmd_vel"),
]


def nodes(context):
    """Return the manager, the spawner of its controllers, and the walk."""
    # Here, because `--show-args` needs neither numpy nor the model.
    from hexapod_dynamics.robot import Robot
    from hexapod_dynamics.robot.ros2_control import BROADCASTER, CONTROLLERS, add_ros2_control, controllers_yaml

    if missing := find_missing(NEEDED, ["ros2_control", "ros2_controllers"]):
        raise RuntimeError(f"ros2_control: {missing}, and source your ROS 2 again")
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    try:
        robot = Robot.load(given["robot"]) if given["robot"] else Robot.jethexa()
        urdf = add_ros2_control(robot.to_urdf(), robot, given["component"])
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None
    file = write_file(controllers_yaml(robot), ".yaml")
    name = CONTROLLERS[given["command_interface"]][0]
    walk = f"{get_package_share_directory(PACKAGE)}/launch/walk.launch.py"
    return [
        # Humble reads the parameter robot_description, later ones hear the topic, which the walk publishes.
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            output="screen",
            parameters=[{"robot_description": urdf}, file],
            remappings=[
                ("~/robot_description", "/robot_description"),
                ("/forward_position_controller/commands", "/commands"),
                ("/joint_trajectory_controller/joint_trajectory", "/joint_trajectory"),
            ],
        ),
        Node(package="controller_manager", executable="spawner", output="screen", arguments=[BROADCASTER, name]),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(walk),
            launch_arguments={
                "hardware": "topics",
                "ros2_control": given["component"],
                **{key: given[key] for key in ("command_interface", "robot", "imu", "detect", "velocity")},
            }.items(),
        ),
    ]


def generate_launch_description():
    """Declare the arguments, then start."""
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, OpaqueFunction(function=nodes)])
