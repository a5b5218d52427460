from launch import LaunchDescription
from launch.actions import ExecuteProcess, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch_ros.actions import Node, PushRosNamespace

TELLER = Node(package="demo", executable="teller", output="screen")
BROKEN = {
    "namespace": [PushRosNamespace("1st"), TELLER],
    "condition": [ExecuteProcess(cmd=["sleep", "60"]), LogInfo(msg="never", condition=IfCondition("perhaps"))],
    "package": [TELLER, Node(package="no_such_package", executable="x")],
    "executable": [Node(package="demo", executable="no_such_program")],
    "program": [ExecuteProcess(cmd=["no_such_program_anywhere"], output="screen"), LogInfo(msg="on")],
}


def generate_launch_description():
    return LaunchDescription([OpaqueFunction(function=lambda context: BROKEN[context.launch_configurations["what"]])])
