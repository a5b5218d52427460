"""Events of processes."""

from dataclasses import dataclass
from typing import Any

from . import Event


@dataclass(kw_only=True)
class RunningProcessEvent(Event):
    """Something about one process that is or was running."""

    action: Any
    process_name: str
    cmd: list[str]
    cwd: str | None
    env: dict[str, str]
    pid: int


class ProcessStarted(RunningProcessEvent):
    """A process has started."""


@dataclass(kw_only=True)
class ProcessExited(RunningProcessEvent):
    """A process has ended."""

    returncode: int


@dataclass(kw_only=True)
class ProcessIO(RunningProcessEvent):
    """Bytes (`text`) that a process has written to its stdout (`fd` 1) or stderr (2)."""

    text: bytes
    fd: int
