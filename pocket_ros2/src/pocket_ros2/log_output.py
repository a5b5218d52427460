"""Where log messages go: console, a file under ~/.ros/log, and /rosout; and the level of every logger."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

_NAMES = {10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}
_COLOURS = {10: "\033[32m", 20: "\033[0m", 30: "\033[33m", 40: "\033[31m", 50: "\033[31m"}
_DEFAULT_FORMAT = "[{severity}] [{time}] [{name}]: {message}"
_DEFAULT_LEVEL = 20


class Record(NamedTuple):
    """One message to be logged."""

    level: int
    name: str
    message: str
    file: str
    function: str
    line: int
    stamp: int  # nanoseconds since 1970


RosoutPublisher = Callable[[Record], None]

levels: dict[str, int] = {}  # logger name -> level; "" is the root
_rosout: dict[str, list[RosoutPublisher]] = {}
_lock = threading.Lock()
_outputs = {"stdout": True, "rosout": True, "file": True}
_file: TextIO | None = None
_file_failed = False


def configure(outputs: dict[str, bool], level: int | None, logger_levels: dict[str, int]) -> None:
    """Take over what --ros-args says about logging."""
    _outputs.update(outputs)
    if level is not None:
        levels[""] = level
    levels.update(logger_levels)


def reset() -> None:
    """Forget every level and output setting."""
    levels.clear()
    _outputs.update(stdout=True, rosout=True, file=True)


def effective_level(name: str) -> int:
    """Return the level of a logger: its own, or that of its nearest ancestor that has one."""
    while name:
        if levels.get(name):
            return levels[name]
        name = name.rpartition(".")[0]
    return levels.get("") or _DEFAULT_LEVEL


def add_rosout(name: str, publish: RosoutPublisher) -> None:
    """Send the messages of a logger and of its children to /rosout as well."""
    with _lock:
        _rosout.setdefault(name, []).append(publish)


def remove_rosout(name: str, publish: RosoutPublisher) -> None:
    """Undo add_rosout."""
    with _lock:
        if publish in _rosout.get(name, []):
            _rosout[name].remove(publish)


def log_directory() -> Path:
    """Return where log files go: ROS_LOG_DIR, or log under ROS_HOME, or ~/.ros/log."""
    directory = os.environ.get("ROS_LOG_DIR")
    if directory:
        return Path(directory).expanduser()
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "log"


def format_record(record: Record, layout: str) -> str:
    """Return a record as text, the layout in the form of RCUTILS_CONSOLE_OUTPUT_FORMAT."""
    seconds, nanoseconds = divmod(record.stamp, 10**9)
    values = {
        "severity": _NAMES.get(record.level, str(record.level)), "name": record.name, "message": record.message,
        "time": f"{seconds}.{nanoseconds:09d}", "time_as_nanoseconds": str(record.stamp),
        "function_name": record.function, "file_name": record.file, "line_number": str(record.line),
    }  # fmt: skip
    parts, rest = [], layout
    while "{" in rest:
        before, _, rest = rest.partition("{")
        token, closed, after = rest.partition("}")
        parts.append(before)
        if closed and token in values:
            parts.append(values[token])
            rest = after
        else:
            parts.append("{")
    return "".join([*parts, rest])


def _coloured(stream: TextIO) -> bool:
    wanted = os.environ.get("RCUTILS_COLORIZED_OUTPUT", "")
    return wanted == "1" or (wanted != "0" and stream.isatty())


def _write_console(record: Record, text: str) -> None:
    stream = sys.stdout if os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1" else sys.stderr
    if stream is None:
        return
    if _coloured(stream):
        text = f"{_COLOURS.get(record.level, '')}{text}\033[0m"
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:
        pass  # whoever read us is gone; a node must not die of that


def _close_file() -> None:
    global _file, _file_failed
    with _lock:
        if _file is not None:
            _file.close()
        _file, _file_failed = None, True


def _write_file(text: str) -> None:
    global _file, _file_failed
    if _file is None and not _file_failed:
        path = log_directory() / f"{Path(sys.executable).name}_{os.getpid()}_{time.time_ns() // 10**6}.log"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _file = open(path, "a", buffering=1, encoding="utf-8")
            atexit.register(_close_file)
        except OSError as error:
            _file_failed = True
            sys.stderr.write(f"no log file: {error}\n")
    if _file is not None:
        _file.write(text + "\n")


def emit(record: Record) -> None:
    """Send a record to all outputs that are switched on."""
    layout = os.environ.get("RCUTILS_CONSOLE_OUTPUT_FORMAT") or _DEFAULT_FORMAT
    text = format_record(record, layout)
    with _lock:
        if _outputs["stdout"]:
            _write_console(record, text)
        if _outputs["file"]:
            _write_file(text)
        publishers: list[RosoutPublisher] = []
        name = record.name
        while _outputs["rosout"] and name and not publishers:
            publishers = list(_rosout.get(name, ()))
            name = name.rpartition(".")[0]
    for publish in publishers[-1:]:
        publish(record)
