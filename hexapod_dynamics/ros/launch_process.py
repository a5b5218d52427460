"""What runs in the process of `ros2 launch`: the check of its arguments and of packages that it needs, files of its
own, and the stop by the space bar.

`ros2 launch` ignores launch arguments that a launch file does not declare without a word; here they are refused.

The space bar in the terminal of `ros2 launch`: the emergency stop of the robots that this launch has started.

It works in the launch process, which owns the terminal's input; the nodes have none. Only the line mode of the
terminal is switched off, so that a key works without Enter; echo and Ctrl-C still work. The space bar cannot end a
stop.
"""

from __future__ import annotations

import atexit
import difflib
import os
import select
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from hexapod_dynamics.drivers.stop_request import StopRequest, resume_command
from hexapod_dynamics.errors import suggest

TERMINAL_CHECK = 0.2  # [s] between two checks whether this process has the terminal


class StopKey:
    """Reads a terminal and calls stop() each time the space bar is pressed, in its own thread.

    fd: the terminal. While another process group has it (the launch was put into the background) nothing is read.
    """

    def __init__(self, fd: int, stop: Callable[[], None]) -> None:
        self._fd, self._stop = fd, stop
        self._ending, self._lock = False, threading.Lock()
        self._before: list[int | list[bytes | int]] | None = None  # attributes of the terminal (termios)
        self._wake, self._ring = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stop_key", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Restore the terminal and end the thread."""
        with self._lock:
            self._ending = True
            if self._before is not None and self._owns():
                termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
        os.write(self._ring, b"x")
        self._thread.join(1.0)

    def _owns(self) -> bool:
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:  # the terminal has hung up, or is not that of this session
            return False

    def _run(self) -> None:
        # If another process group gets the terminal between check and read, the read fails and does not stop this
        # process.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
        while not self._ending:
            if not self._owns():
                if select.select([self._wake], [], [], TERMINAL_CHECK)[0]:
                    return
                continue
            try:
                self._prepare()
                ready = select.select([self._fd, self._wake], [], [], TERMINAL_CHECK)[0]
                keys = os.read(self._fd, 64) if self._fd in ready and self._owns() else None
            except (OSError, termios.error):
                keys = None
                if select.select([self._wake], [], [], TERMINAL_CHECK)[0]:
                    return
            if keys == b"":  # hung up
                return
            if keys and b" " in keys:
                self._stop()

    def _prepare(self) -> None:
        """Set the terminal to read single keys; needed again after a shell has changed its mode."""
        with self._lock:
            settings = termios.tcgetattr(self._fd)
            if self._ending or not settings[3] & termios.ICANON:
                return
            if self._before is None:
                self._before = termios.tcgetattr(self._fd)
            settings[3] &= ~termios.ICANON
            settings[6][termios.VMIN], settings[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSANOW, settings)


class _Launch:
    """The robots of this launch process, and their common StopKey."""

    namespaces: ClassVar[list[str]] = []
    key: StopKey | None = None


def _stop_all(say: Callable[[str], object]) -> None:
    """Stop all robots at the same time, without threads, which may not start; none waits for another one's answer."""

    def report(namespace: str, result: str) -> None:
        of = f" of {namespace}" if namespace else ""
        ends = f"`ros2 run hexapod_dynamics {resume_command(namespace)}` ends it"
        say(f"space bar, emergency stop{of}: {result}; {ends}")

    requests = [(namespace, StopRequest(namespace)) for namespace in _Launch.namespaces]
    end = time.monotonic() + 0.5  # [s] then the service is called, too; at once where nobody listens
    calls: list[tuple[str, subprocess.Popen[str]]] = []
    for namespace, request in sorted(requests, key=lambda each: each[1].sent):
        answer = request.wait_for_answer(end - time.monotonic())
        request.close()
        if answer is not None:
            report(namespace, answer[1])
            continue
        command = [sys.executable, "-m", "hexapod_dynamics.tools.stop", "--namespace", namespace]
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        try:
            calls.append((namespace, subprocess.Popen(command, stdin=none, stdout=pipe, stderr=pipe, text=True)))
        except OSError as error:
            report(namespace, f"the service cannot be called: {error}")
    for namespace, call in calls:
        output, errors = call.communicate()
        report(namespace, (output or errors).strip())


def listen(namespace: str, say: Callable[[str], object]) -> bool:
    """Let the space bar stop the robot of a namespace; say(text) reports it.

    Return whether standard input is a terminal; without a terminal this has no effect.
    """
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by an object without a descriptor
        return False
    if not os.isatty(fd):
        return False
    _Launch.namespaces.append(namespace)
    if _Launch.key is None:
        key = _Launch.key = StopKey(fd, lambda: _stop_all(say))
        atexit.register(key.close)
    return True


# What launch and launch_ros set themselves: for `--launch-prefix`, and PushRosNamespace in an including launch file.
SET_BY_LAUNCH = ("launch-prefix", "launch-prefix-filter", "ros_namespace")


def refuse_undeclared(arguments: Sequence[DeclareLaunchArgument], file: str) -> OpaqueFunction:
    """Return the first action of a launch file: it raises RuntimeError for an argument that is not declared.

    A launch file that another one includes sees the arguments of that one, too, and cannot tell them from those that
    were passed to it: there only a name that resembles a declared one is refused.

    Args:
        arguments: all arguments of the launch file.
        file: path of the launch file (`__file__`).

    """
    declared = [argument.name for argument in arguments]

    def check(context: LaunchContext) -> None:
        name = os.path.basename(file)
        included = not any(os.path.basename(word) == name for word in sys.argv)
        for given, value in context.launch_configurations.items():
            if given in (*declared, *SET_BY_LAUNCH) or (
                included and not difflib.get_close_matches(given.lower(), declared, n=1, cutoff=0.8)
            ):
                continue
            raise RuntimeError(
                f"{given}:={value}: {name} has no argument {given!r}; {suggest(given, declared)} "
                f"(--show-args lists all{'; the including launch file may set it under another name' * included})"
            )

    return OpaqueFunction(function=check)


def find_missing(packages: Sequence[str], install: Sequence[str] = ()) -> str:
    """Return which of some ROS packages are not installed, with the command that installs them, or those that are named
    as `install`; empty if all are.
    """
    missing = []
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    distro = os.environ.get("ROS_DISTRO", "humble")
    names = " ".join(f"ros-{distro}-{name.replace('_', '-')}" for name in install or missing)
    return f"{', '.join(missing)} not installed; sudo apt install {names}" if missing else ""


def write_file(text: str, suffix: str) -> str:
    """Write a file for processes of this launch, and return its path; it is deleted when the launch ends."""
    with tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=suffix, delete=False) as file:
        file.write(text)
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return file.name
