import sys

from launch import LaunchDescription
from launch.actions import EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessIO
from launch.events import Shutdown

DEAF = 'import signal, time; [signal.signal(s, signal.SIG_IGN) for s in {}]; print("up", flush=True); time.sleep(60)'


def generate_launch_description():
    up = []

    def count(event):
        if event.text.startswith(b"up"):
            up.append(event)
            return EmitEvent(event=Shutdown(reason="up")) if len(up) == 2 else None

    return LaunchDescription(
        [
            RegisterEventHandler(OnProcessIO(on_stdout=count)),
            ExecuteProcess(
                cmd=[sys.executable, "-c", DEAF.format("[signal.SIGINT]")],
                name="deaf_to_sigint",
                output="screen",
                sigterm_timeout="0.5",
                sigkill_timeout="0.5",
            ),
            ExecuteProcess(
                cmd=[sys.executable, "-c", DEAF.format("[signal.SIGINT, signal.SIGTERM]")],
                name="deaf",
                output="screen",
                sigterm_timeout="0.5",
                sigkill_timeout="0.5",
            ),
            LogInfo(msg="waiting"),
        ]
    )
