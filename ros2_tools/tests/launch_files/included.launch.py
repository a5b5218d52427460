from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("needed", description="must be given"),
            DeclareLaunchArgument("optional", default_value="default"),
            LogInfo(msg=["included with ", LaunchConfiguration("needed"), " ", LaunchConfiguration("optional")]),
        ]
    )
