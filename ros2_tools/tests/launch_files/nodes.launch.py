from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, LogInfo
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter, SetRemap
from launch_ros.descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare


def generate_launch_description():
    config = PathJoinSubstitution([FindPackageShare("demo"), "config", "demo.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("rate", default_value="50"),
            DeclareLaunchArgument("words", default_value="[a, b]"),
            Node(package="demo", executable="teller", output="screen"),
            Node(
                package="demo",
                executable="teller",
                name="named",
                namespace="space",
                exec_name="label",
                output="screen",
                parameters=[
                    config,
                    {
                        "whole": 3,
                        "real": 2.5,
                        "truth": True,
                        "text": 'a "quoted": text',
                        "digits": "12",
                        "list": [1, 2, 3],
                        "mixed": [1, 2.5],
                        "texts": ["x", "y z"],
                        "nested": {"deeper": {"one": 1}},
                        "read": LaunchConfiguration("rate"),
                        "list_read": LaunchConfiguration("words"),
                        "kept_text": ParameterValue(LaunchConfiguration("rate"), value_type=str),
                        "as_float": ParameterValue(LaunchConfiguration("rate"), value_type=float),
                        "as_texts": ParameterValue(LaunchConfiguration("words"), value_type=list[str]),
                        "joined": ["r", LaunchConfiguration("rate")],
                        ("name_", LaunchConfiguration("rate")): 1.0,
                    },
                ],
                remappings=[("chatter", "talk"), ("~/state", ["/st", LaunchConfiguration("rate")])],
                ros_arguments=["--log-level", "warn"],
                arguments=["-x", LaunchConfiguration("rate")],
                additional_env={"MARK": "seen"},
            ),
            GroupAction(
                [
                    PushRosNamespace("outer"),
                    PushRosNamespace("inner"),
                    SetParameter("gain", 0.5),
                    SetParameter("mode", "auto"),
                    SetRemap("cmd", "command"),
                    Node(
                        package="demo", executable="teller", name="below", output="screen", parameters=[{"gain": 1.5}]
                    ),
                    Node(package="demo", executable="teller", name="below", namespace="/absolute", output="screen"),
                ]
            ),
            Node(
                package="demo",
                executable="teller",
                name="outside",
                output="screen",
                parameters=[
                    ParameterFile(
                        PathJoinSubstitution([FindPackageShare("demo"), "config", "templated.yaml"]), allow_substs=True
                    ),
                    "/nowhere/at/all.yaml",
                ],
            ),
            Node(
                executable=ExecutableInPackage(package="demo", executable="teller"),
                exec_name="by_path",
                output="screen",
            ),
            LogInfo(msg=[FindPackagePrefix("demo")]),
        ]
    )
