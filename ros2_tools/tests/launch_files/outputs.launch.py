from launch import LaunchDescription
from launch.actions import ExecuteProcess


def generate_launch_description():
    return LaunchDescription(
        [
            ExecuteProcess(cmd=["sh", "-c", "echo out; echo err >&2"], name=name, output=output)
            for name, output in {
                "screen": "screen",
                "log": "log",
                "both": "both",
                "own_log": "own_log",
                "full": "full",
            }.items()
        ]
    )
