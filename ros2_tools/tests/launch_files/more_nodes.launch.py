from launch import LaunchDescription
from launch.actions import GroupAction, OpaqueFunction
from launch.conditions import UnlessCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, SetParameter, SetRemap


def teller(**kwargs):
    return Node(package="demo", executable="teller", output="screen", **kwargs)


def made(context):
    rate = LaunchConfiguration("rate", default=50).perform(context)
    return [teller(name=f"made_{rate}", namespace=["ns_", LaunchConfiguration("rate", default="50")])]


def generate_launch_description():
    around = [SetParameter("numbers", [1, 2]), SetParameter("use_sim_time", True), SetRemap("from", "to")]
    return LaunchDescription(
        [
            GroupAction([*around, teller(remappings=[("a", "b")])]),
            teller(),
            OpaqueFunction(function=made),
            GroupAction([teller(name="never")], condition=UnlessCondition("1")),
            teller(name="same", namespace="twice"),
            teller(name="same", namespace="/twice"),
        ]
    )
