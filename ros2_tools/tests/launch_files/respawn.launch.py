import os

from launch import LaunchDescription
from launch.actions import EmitEvent, ExecuteProcess, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import EnvironmentVariable


def generate_launch_description():
    count = os.path.join(os.environ["SCRATCH"], "count")
    again = ExecuteProcess(
        cmd=["sh", "-c", 'echo again >> "$0"; wc -l < "$0"', count],
        name="again",
        output="screen",
        respawn=True,
        respawn_delay=0.2,
    )

    def third(event, context):
        with open(count) as file:
            if len(file.readlines()) == 3:
                return EmitEvent(event=Shutdown(reason="thrice"))

    return LaunchDescription(
        [
            RegisterEventHandler(OnProcessExit(target_action=again, on_exit=third)),
            TimerAction(period=0.3, actions=[ExecuteProcess(cmd=["echo", EnvironmentVariable("SCRATCH")])]),
            TimerAction(period=60.0, actions=[ExecuteProcess(cmd=["echo", "never"], output="screen")]),
            again,
        ]
    )
