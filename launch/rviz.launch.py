"""Shows a robot that walks in RViz: ros2 launch hexapod_dynamics rviz.launch.py, or rviz:=true of walk.launch.py."""

import os
import tempfile
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch_ros.actions import Node

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from hexapod_dynamics.ros.launch_process import refuse_undeclared

ARGUMENTS = [DeclareLaunchArgument("namespace", default_value="", description="namespace of the robot to show")]


def rviz(context):
    """Return the node rviz2, or a message that tells how to install it."""
    namespace = context.launch_configurations["namespace"]
    try:
        get_package_share_directory("rviz2")
    except PackageNotFoundError:
        package = f"ros-{os.environ.get('ROS_DISTRO', 'humble')}-rviz2"
        text = f"rviz2 is not installed; sudo apt install {package}, or use view:=true of walk.launch.py"
        return [LogInfo(msg=text)]
    config = Path(get_package_share_directory("hexapod_dynamics"), "config", "hexapod.rviz")
    arguments = ["-d", configuration(config, namespace)]
    return [Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=arguments)]


def configuration(config, namespace):
    """Return the path of the RViz configuration; with a namespace, of a copy with that namespace's frames."""
    prefix = namespace.strip("/")
    if not prefix:
        return str(config)
    text = Path(config).read_text()
    for setting, value in (("Fixed Frame", "odom"), ("Target Frame", "base_link"), ("TF Prefix", "predicted")):
        text = text.replace(f"{setting}: {value}\n", f"{setting}: {prefix}/{value}\n")
    text = text.replace('TF Prefix: ""\n', f"TF Prefix: {prefix}\n")
    with tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=".rviz", delete=False) as copy:
        copy.write(text)
    return copy.name


def generate_launch_description():
    """Declare the argument, then start rviz2."""
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, OpaqueFunction(function=rviz)])
