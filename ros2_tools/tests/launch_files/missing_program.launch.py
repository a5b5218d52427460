from launch import LaunchDescription
from launch.actions import ExecuteProcess, LogInfo


def generate_launch_description():
    return LaunchDescription([ExecuteProcess(cmd=["no_such_program_anywhere"], output="screen"), LogInfo(msg="on")])
