from launch import LaunchDescription
from launch.actions import GroupAction, OpaqueFunction
from launch.conditions import UnlessCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, SetParameter, SetParametersFromFile, SetRemap
from launch_ros.descriptions import Parameter
from launch_ros.substitutions import FindPackageShare


def teller(**kwargs):
    return Node(package="demo", executable="teller", output="screen", **kwargs)


def made(context):
    rate = LaunchConfiguration("rate", default=50).perform(context)
    return [teller(name=f"made_{rate}", namespace=["ns_", LaunchConfiguration("rate", default="50")])]


def generate_launch_description():
    return LaunchDescription(
        [
            GroupAction(
                [
                    SetParametersFromFile(PathJoinSubstitution([FindPackageShare("demo"), "config", "demo.yaml"])),
                    SetParameter("use_sim_time", True),
                    SetRemap("from", "to"),
                    teller(
                        parameters=[
                            Parameter("one", 1),
                            Parameter("texts", ["a", "b c"]),
                            Parameter("rate", LaunchConfiguration("rate", default="50")),
                        ],
                        remappings=[("a", "b")],
                    ),
                ]
            ),
            teller(),
            OpaqueFunction(function=made),
            GroupAction([teller(name="never")], condition=UnlessCondition("1")),
            teller(name="same", namespace="twice"),
            teller(name="same", namespace="/twice"),
        ]
    )
