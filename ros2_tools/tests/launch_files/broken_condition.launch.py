from launch import LaunchDescription
from launch.actions import ExecuteProcess, LogInfo
from launch.conditions import IfCondition


def generate_launch_description():
    return LaunchDescription(
        [
            ExecuteProcess(cmd=["sleep", "60"], output="screen"),
            LogInfo(msg="never", condition=IfCondition("perhaps")),
        ]
    )
