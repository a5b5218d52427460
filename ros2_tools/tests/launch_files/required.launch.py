from launch import LaunchDescription
from launch.actions import ExecuteProcess, Shutdown


def generate_launch_description():
    return LaunchDescription(
        [
            ExecuteProcess(cmd=["sleep", "60"], name="other", output="screen"),
            ExecuteProcess(
                cmd=["sh", "-c", "sleep 0.5; exit 2"],
                name="required",
                output="screen",
                on_exit=Shutdown(reason="it is gone"),
            ),
        ]
    )
