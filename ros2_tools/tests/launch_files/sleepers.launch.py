import sys

from launch import LaunchDescription
from launch.actions import ExecuteProcess, TimerAction
from launch.substitutions import LaunchConfiguration

NODE = """
import os, signal, sys, time
def stop(number, frame):
    os.write(1, f'stopped by {signal.Signals(number).name}\\n'.encode())
    sys.exit(0)
signal.signal(signal.SIGINT, stop)
signal.signal(signal.SIGTERM, stop)
os.write(1, b'up\\n')
time.sleep(60)
"""


def generate_launch_description():
    return LaunchDescription(
        [
            ExecuteProcess(cmd=[sys.executable, "-c", NODE], name="first", output="screen"),
            ExecuteProcess(cmd=[sys.executable, "-c", NODE], name="second", output="screen", respawn=True),
            ExecuteProcess(cmd=["sh", "-c", "exit 0"], name="third", respawn=True, respawn_delay=60.0),
            TimerAction(period=LaunchConfiguration("period", default="60"), actions=[]),
        ]
    )
