"""Entry points of the nodes: hear SIGINT and SIGTERM from the first moment, then import and run the node.

A signal during the start (importing, compiling) ends the process at once and quietly; a signal while the node runs lets
it take its leave, and a second one does not disturb that. A launched node also ends when its launch process is gone:
`ros2 launch` leaves its nodes behind on SIGTERM, and a robot would walk on that nobody's Ctrl-C reaches.
"""

import importlib
import os
import signal
import sys
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAUNCH = 'HEXAPOD_LAUNCH'       # the launch file sets it to its process number
_running = False
_stopping = False


def _on_signal(_number, _frame):
    global _stopping
    _stopping = True
    if not _running:
        shut_down = getattr(sys.modules.get('rclpy'), 'try_shutdown', None)     # None while rclpy is being imported
        if shut_down is not None:
            # In a thread: what this handler has interrupted may hold a lock that the farewell needs.
            farewell = threading.Thread(target=shut_down, daemon=True)
            farewell.start()
            farewell.join(0.5)
        os._exit(0)


def hear_signals():
    """Let SIGINT and SIGTERM end this process as the module says."""
    for number in SIGNALS:
        signal.signal(number, _on_signal)


def running():
    """From now on a signal is only noted: whoever called this looks at `stopping`."""
    global _running
    _running = True


def left_behind():
    """Whether the launch process that started this one is gone."""
    launch = os.environ.get(LAUNCH)
    return launch is not None and str(os.getppid()) != launch


def stopping():
    """Whether a signal has come, or the launch process has gone."""
    return _stopping or left_behind()


def _entry(module):
    def main(args=None):
        hear_signals()
        importlib.import_module(f'hexapod_dynamics.{module}').main(args)

    main.__doc__ = f'Run {module}.'
    return main


imu, servos, gait, dynamics, damage_manager, simulator = (
    _entry(f'nodes.{name}') for name in ('imu', 'servos', 'gait', 'dynamics', 'damage_manager', 'simulator'))
walk_status = _entry('tools.walk_status')
