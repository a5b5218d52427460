import signal
import sys

from launch import LaunchDescription
from launch.actions import EmitEvent, ExecuteLocal, LogInfo, RegisterEventHandler
from launch.descriptions import Executable
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import matches_action
from launch.events.process import ShutdownProcess, SignalProcess

PROGRAM = """
import os, signal, sys, time
def told(number, frame):
    os.write(1, f'got {signal.Signals(number).name}\\n'.encode())
    sys.exit(0)
signal.signal(signal.SIGUSR1, told)
os.write(1, b'up\\n')
time.sleep(60)
"""


def generate_launch_description():
    signalled = ExecuteLocal(
        process_description=Executable(cmd=[sys.executable, "-c", PROGRAM], name="signalled"), output="screen"
    )
    ended = ExecuteLocal(process_description=Executable(cmd=["sleep", "60"], name="ended"), output="screen")

    def up(event):
        if event.text.startswith(b"up"):
            return EmitEvent(
                event=SignalProcess(signal_number=signal.SIGUSR1, process_matcher=matches_action(signalled))
            )

    return LaunchDescription(
        [
            RegisterEventHandler(OnProcessIO(target_action=signalled, on_stdout=up)),
            RegisterEventHandler(
                OnProcessExit(
                    target_action=signalled,
                    on_exit=[EmitEvent(event=ShutdownProcess(process_matcher=matches_action(ended)))],
                )
            ),
            RegisterEventHandler(OnProcessExit(target_action=ended, on_exit=[LogInfo(msg="both are gone")])),
            signalled,
            ended,
        ]
    )
