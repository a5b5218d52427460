from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, SetLaunchConfiguration
from launch.conditions import IfCondition, LaunchConfigurationEquals, LaunchConfigurationNotEquals, UnlessCondition
from launch.substitutions import (
    EnvironmentVariable,
    LaunchConfiguration,
    PathJoinSubstitution,
    PythonExpression,
    TextSubstitution,
)


def told(context, word):
    return [LogInfo(msg=[word, LaunchConfiguration("speed")])]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("speed", default_value="0.5", description="how fast"),
            DeclareLaunchArgument("mode", default_value="slow", choices=["slow", "fast"], description="how"),
            DeclareLaunchArgument("bare", default_value=["a", EnvironmentVariable("NOT_SET", default_value="b")]),
            LogInfo(
                msg=["speed ", LaunchConfiguration("speed"), TextSubstitution(text=", "), LaunchConfiguration("bare")]
            ),
            LogInfo(msg="slow", condition=LaunchConfigurationEquals("mode", "slow")),
            LogInfo(msg="not slow", condition=LaunchConfigurationNotEquals("mode", "slow")),
            LogInfo(msg="not set", condition=LaunchConfigurationEquals("nowhere", None)),
            LogInfo(
                msg="twice is more than 1",
                condition=IfCondition(PythonExpression(["2 * ", LaunchConfiguration("speed"), " > 1"])),
            ),
            LogInfo(
                msg="twice is at most 1",
                condition=UnlessCondition(PythonExpression(["2 * ", LaunchConfiguration("speed"), " > 1"])),
            ),
            LogInfo(msg=PathJoinSubstitution(["/a", LaunchConfiguration("mode"), "c.yaml"])),
            LogInfo(msg=PythonExpression(["floor(", LaunchConfiguration("speed"), " * 10) + sqrt(4)"])),
            SetLaunchConfiguration("speed", "2"),
            OpaqueFunction(function=told, args=["now "]),
        ]
    )
