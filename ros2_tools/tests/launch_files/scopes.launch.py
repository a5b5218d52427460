from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import AnyLaunchDescriptionSource, PythonLaunchDescriptionSource
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, ThisLaunchFileDir


def value(name):
    return LaunchConfiguration(name, default="unset")


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("a", default_value="1"),
            GroupAction(
                [
                    SetLaunchConfiguration("a", "2"),
                    LogInfo(msg=["in: ", value("a")]),
                    SetEnvironmentVariable("COLOUR", "red"),
                    ExecuteProcess(cmd=["sh", "-c", "echo $COLOUR"], name="in", output="screen"),
                ]
            ),
            LogInfo(msg=["out: ", value("a"), " ", EnvironmentVariable("COLOUR", default_value="no colour")]),
            GroupAction([SetLaunchConfiguration("a", "3")], scoped=False),
            LogInfo(msg=["after unscoped: ", value("a")]),
            GroupAction(
                [LogInfo(msg=["not forwarded: ", value("a"), " ", value("b")])],
                forwarding=False,
                launch_configurations={"b": value("a")},
            ),
            GroupAction([LogInfo(msg="never")], condition=IfCondition("false")),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource([ThisLaunchFileDir(), "/included.launch.py"]),
                launch_arguments={"needed": "given", "optional": value("a")}.items(),
            ),
            LogInfo(msg=["kept after the include: ", value("needed")]),
            GroupAction(
                [
                    IncludeLaunchDescription(
                        AnyLaunchDescriptionSource([ThisLaunchFileDir(), "/included.launch.py"]),
                        launch_arguments=[("needed", "again")],
                    )
                ]
            ),
        ]
    )
