from launch import LaunchDescription
from launch_ros.actions import Node, SetParameter


def generate_launch_description():
    return LaunchDescription(
        [SetParameter("numbers", [1, 2]), Node(package="demo", executable="teller", output="screen")]
    )
