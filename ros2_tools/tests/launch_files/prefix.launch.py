from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    return LaunchDescription(
        [
            Node(package="demo", executable="teller", output="screen", prefix=["env PREFIXED=yes"]),
            Node(package="demo", executable="teller", output="screen"),
        ]
    )
