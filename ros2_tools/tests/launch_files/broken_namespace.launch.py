from launch import LaunchDescription
from launch_ros.actions import Node, PushRosNamespace


def generate_launch_description():
    return LaunchDescription([PushRosNamespace("1st"), Node(package="demo", executable="teller", output="screen")])
