"""Shows a robot that walks in RViz: ros2 launch hexapod_dynamics rviz.launch.py, or rviz:=true of walk.launch.py."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch_ros.actions import Node

from ament_index_python.packages import get_package_share_directory
from hexapod_dynamics.ros.launch_process import find_missing, refuse_undeclared, write_file

ARGUMENTS = [DeclareLaunchArgument("namespace", default_value="", description="namespace of the robot to show")]


def rviz(context):
    """Return the node rviz2, or a message that tells how to install it."""
    namespace = context.launch_configurations["namespace"]
    if missing := find_missing(["rviz2"]):
        return [LogInfo(msg=f"{missing}, or use view:=true of walk.launch.py")]
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
    return write_file(text, ".rviz")


def generate_launch_description():
    """Declare the argument, then start rviz2."""
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, OpaqueFunction(function=rviz)])
