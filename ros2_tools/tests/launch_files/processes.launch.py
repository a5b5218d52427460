import sys

from launch import LaunchDescription
from launch.actions import EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart, OnShutdown
from launch.events import Shutdown
from launch.substitutions import FindExecutable


def generate_launch_description():
    first = ExecuteProcess(
        cmd=[FindExecutable(name="sh"), "-c", "echo one; echo two >&2; printf three"], output="screen"
    )
    second = ExecuteProcess(
        cmd=[sys.executable, "-c", 'import sys; print("known by its code"); sys.exit(3)'], name="second", output="both"
    )
    third = ExecuteProcess(
        cmd=["echo", "$GREETING", "you"], shell=True, output="screen", additional_env={"GREETING": "hello"}
    )
    silent = ExecuteProcess(cmd=["sh", "-c", "echo only in the log; echo on the screen >&2"])
    terminal = ExecuteProcess(cmd=["sh", "-c", "test -t 1 && echo a terminal"], emulate_tty=True, output="screen")
    forever = ExecuteProcess(cmd=["sleep", "60"], output="screen")
    return LaunchDescription(
        [
            RegisterEventHandler(OnProcessStart(target_action=first, on_start=[LogInfo(msg="first has started")])),
            RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[LogInfo(msg="first has ended"), second])),
            RegisterEventHandler(
                OnProcessIO(
                    target_action=second,
                    on_stdout=lambda event: LogInfo(msg=f"second said {event.text.decode().strip()}"),
                )
            ),
            RegisterEventHandler(
                OnProcessExit(
                    target_action=second,
                    on_exit=lambda event, context: [LogInfo(msg=f"second has ended with {event.returncode}"), third],
                )
            ),
            RegisterEventHandler(OnProcessExit(target_action=third, on_exit=[silent])),
            RegisterEventHandler(OnProcessExit(target_action=silent, on_exit=[terminal])),
            RegisterEventHandler(
                OnProcessExit(target_action=terminal, on_exit=[EmitEvent(event=Shutdown(reason="all is told"))])
            ),
            RegisterEventHandler(
                OnShutdown(on_shutdown=lambda event, context: [LogInfo(msg=f"the end: {event.reason}")])
            ),
            forever,
            first,
        ]
    )
