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

from hexapod_dynamics.one_thread import compute_in_one_thread

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAUNCH = "HEXAPOD_LAUNCH"  # the launch file sets it to its process id

TAKE_NAMES = ("nodes.companions",)  # modules whose arguments are names of nodes


def _launch_of(text: str) -> int:
    """The process id in the environment variable of the launch, which only the launch file sets."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        sys.exit(f"{LAUNCH} is {text[:40]!r}: the launch file sets it to its process id; unset it")
    return int(text)


_launch = _launch_of(os.environ.get(LAUNCH) or "0")
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


def hear_signals() -> None:
    """Install the handlers of SIGINT and SIGTERM; see the module."""
    for number in SIGNALS:
        signal.signal(number, _on_signal)


def running() -> None:
    """Let signals only set `stopping` from now on; the caller polls it."""
    global _running
    _running = True


def launched() -> bool:
    """Whether a launch process started this process."""
    return _launch != 0


def launch_process() -> int:
    """Process id of the launch process that started this process, 0 if none has."""
    return _launch


def left_behind() -> bool:
    """Whether the launch process that started this process has ended."""
    return _launch != 0 and os.getppid() != _launch


def stopping() -> bool:
    """Whether a signal was received or the launch process has ended."""
    return _stopping or left_behind()


def wait_where_respawned() -> None:
    """Wait until the launch ends, if there is one, because it would restart this node again and again; else return
    at once.
    """
    while _launch and not stopping():
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


def _answer_words(module: str, words: list[str]) -> None:
    """Print the help of a node and end, or refuse words that no node takes; rclpy ignores them."""
    own = words[: words.index("--ros-args")] if "--ros-args" in words else words
    name = module.rpartition(".")[2]
    if any(word in ("-h", "--help") for word in own):
        source = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")  # without importing ROS
        about = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        print(f"usage: ros2 run hexapod_dynamics {name} [--ros-args -p NAME:=VALUE -r __ns:=/NAMESPACE ...]\n")
        print(f"{about}\n\ndocs/parameters.md lists the parameters; walk.launch.py starts all nodes.")
        sys.exit(0)
    if own and module not in TAKE_NAMES:
        sys.exit(f"{name}: takes no argument {own[0]!r}; ROS arguments stand behind --ros-args, as -p NAME:=VALUE")


def _entry(module: str) -> Callable[..., None]:
    def main(args: list[str] | None = None) -> None:
        _answer_words(module, list(sys.argv[1:] if args is None else args))
        hear_signals()
        compute_in_one_thread()
        _import(module).main(args)

    main.__doc__ = f"Run {module}."
    return main


imu, servos, gait, dynamics, damage_manager, damage_detector, simulator, robot_description, view = (
    _entry(f"nodes.{name}")
    for name in (
        "imu",
        "servos",
        "gait",
        "dynamics",
        "damage_manager",
        "damage_detector",
        "simulator",
        "robot_description",
        "view",
    )
)
walk_status = _entry("nodes.walk_status")
companions = _entry("nodes.companions")


def set_morphology(args: Sequence[str] | None = None) -> int | None:
    """Run tools.set_morphology."""
    return _import("tools.set_morphology").main(args)
