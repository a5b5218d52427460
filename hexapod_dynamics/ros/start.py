"""Entry points of the nodes: handle SIGINT and SIGTERM from the beginning, then import and run the node.

A signal during the start (imports, compilation) ends the process at once, without messages; a signal while the
node runs shuts it down cleanly, and a second signal does not interrupt this. A launched node also ends when its
launch process has ended: `ros2 launch` does not end its nodes on SIGTERM, and the robot would continue to walk,
and no Ctrl-C would reach it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, ModuleType

from hexapod_dynamics.process_environment import compute_in_one_thread

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAUNCH_VARIABLE = "HEXAPOD_LAUNCH"  # the launch file sets it to its process id

# The nodes, by their modules, and their classes.
NODES = {
    "imu": "ImuNode",
    "servos": "ServosNode",
    "gait": "GaitNode",
    "dynamics": "DynamicsNode",
    "damage_manager": "DamageManager",
    "damage_detector": "DamageDetectorNode",
    "simulator": "SimulatorNode",
    "robot_description": "RobotDescription",
    "view": "View",
    "walk_status": "WalkStatus",
}
MOTIONLESS_NODES = ("damage_manager", "damage_detector", "robot_description", "walk_status")  # these move no joint
COMPANIONS = "companions"


def _parse_launch(text: str) -> int:
    """The process id in the environment variable of the launch, which only the launch file sets."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        sys.exit(f"{LAUNCH_VARIABLE} is {text[:40]!r}: the launch file sets it to its process id; unset it")
    return int(text)


_launch = _parse_launch(os.environ.get(LAUNCH_VARIABLE) or "0")
_running = False
_stopping = False


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    global _stopping
    _stopping = True
    if not _running:
        shut_down = getattr(sys.modules.get("rclpy"), "try_shutdown", None)  # None while rclpy is being imported
        if shut_down is not None:
            # In a thread, because the interrupted code may hold a lock that the shutdown needs.
            ending = threading.Thread(target=shut_down, daemon=True)
            ending.start()
            ending.join(0.5)
        os._exit(0)


def install_signal_handlers() -> None:
    """Install the handlers of SIGINT and SIGTERM; see the module."""
    for number in SIGNALS:
        signal.signal(number, _on_signal)


def defer_signals() -> None:
    """Let signals only set `is_stopping` from now on; the caller polls it."""
    global _running
    _running = True


def launch_process() -> int:
    """Process id of the launch process that started this process, 0 if none has."""
    return _launch


def has_launch_ended() -> bool:
    """Whether the launch process that started this process has ended."""
    return _launch != 0 and os.getppid() != _launch


def is_stopping() -> bool:
    """Whether a signal was received or the launch process has ended."""
    return _stopping or has_launch_ended()


def wait_where_respawned() -> None:
    """Wait until the launch ends, if there is one, because it would restart this node again and again; else return
    at once.
    """
    while _launch and not is_stopping():
        time.sleep(0.2)


def _import(module: str) -> ModuleType:
    """Import a module of this package; without ROS 2, end the process with one line that names the remedy."""
    try:
        return importlib.import_module(f"hexapod_dynamics.{module}")
    except ModuleNotFoundError:
        if importlib.util.find_spec("rclpy") is not None:
            raise
        name = os.path.basename(sys.argv[0])
        sys.exit(f"{name}: needs ROS 2, and Python finds no rclpy; source a ROS 2, or use ./with_ros2 of the checkout")


def _names(program: str, given: Sequence[str]) -> list[str]:
    """Return the words before --ros-args: names of nodes, which only `companions` takes; rclpy ignores them.

    Print the help and end if it is asked for.
    """
    own = list(given[: given.index("--ros-args")] if "--ros-args" in given else given)
    if any(word in ("-h", "--help") for word in own):
        module = "__main__" if program == COMPANIONS else program
        source = Path(__file__).parents[1].joinpath("nodes", f"{module}.py")  # without importing ROS
        about = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        print(f"usage: ros2 run hexapod_dynamics {program} [--ros-args -p NAME:=VALUE -r __ns:=/NAMESPACE ...]\n")
        print(f"{about}\n\ndocs/parameters.md lists the parameters; walk.launch.py starts all nodes.")
        sys.exit(0)
    if own and program != COMPANIONS:
        sys.exit(f"{program}: takes no argument {own[0]!r}; ROS arguments stand behind --ros-args, as -p NAME:=VALUE")
    unknown = [name for name in own if name not in NODES]
    if unknown:
        sys.exit(f"{program}: no node {unknown[0]!r}; there are {', '.join(NODES)}")
    return list(dict.fromkeys(own))  # a name that is given twice is one node: two gaits would command one body


def _make_entry(program: str, default: Sequence[str]) -> Callable[..., None]:
    def main(args: Sequence[str] | None = None) -> None:
        names = _names(program, sys.argv[1:] if args is None else args) or default
        install_signal_handlers()
        compute_in_one_thread()
        classes = [getattr(_import(f"nodes.{name}"), NODES[name]) for name in names]
        _import("ros.running").run_together(classes, args)

    main.__doc__ = f"Run {' '.join(default)}."
    return main


imu, servos, gait, dynamics, damage_manager, damage_detector, simulator, robot_description, view, walk_status = (
    _make_entry(name, [name]) for name in NODES
)
companions = _make_entry(COMPANIONS, MOTIONLESS_NODES)


def set_morphology(args: Sequence[str] | None = None) -> int | None:
    """Run tools.set_morphology."""
    return _import("tools.set_morphology").main(args)
