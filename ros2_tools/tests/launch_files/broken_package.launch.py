from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    return LaunchDescription(
        [
            Node(package="demo", executable="teller", output="screen"),
            Node(package="no_such_package", executable="x"),
        ]
    )
