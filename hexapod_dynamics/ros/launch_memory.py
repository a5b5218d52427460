"""Memory of the launch process in which a node stores a copy of its state, safe from programs that delete files.

A node that is started again without its file cannot know from the file system whether it has stored a state
before. The launch makes one memory for each such process (`memfd_create`), keeps it open until the launch ends,
and passes its descriptor in the environment; the node opens it through /proc. A node that was not started by a
launch has none.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from hexapod_dynamics.errors import StoredStateError
from hexapod_dynamics.ros.state_file import LARGEST, parse_state

Result = TypeVar("Result")

NAME = "hexapod_state"
VARIABLE = "HEXAPOD_LAUNCH_MEMORY"  # number of the memory's file descriptor in the launch process
_SAVING = threading.Lock()  # nodes of one process save in threads of their own


def make_memory() -> dict[str, str]:
    """Make a memory in this process; return the environment variables for the process that uses it.

    It lasts until this process ends.
    """
    return {VARIABLE: str(os.memfd_create(NAME))}


class LaunchMemory:
    """The memory `number` of the launch process `launch`; `number` is the text in the environment, empty if there
    is none.

    The memory holds the state of each node of the process under its name.
    """

    def __init__(self, launch: int, number: str, name: str) -> None:
        self.exists = bool(launch and number)
        self._path, self._name = f"/proc/{launch}/fd/{number}", name
        if self.exists and not (number.isascii() and number.isdigit()):
            raise StoredStateError(f"{VARIABLE} is {number[:40]!r}, not the number of a file descriptor")

    def load(self) -> dict[str, object] | None:
        """Return the saved values, None if nothing was saved; raises StoredStateError if this cannot be
        determined.
        """
        if not self.exists:
            return None
        state = self._read().get(self._name)
        if state is not None and not isinstance(state, dict):
            raise StoredStateError("the memory of the launch does not contain the stored state of a node")
        return state

    def save(self, values: dict[str, object]) -> None:
        """Save values; raises StoredStateError."""
        if not self.exists:
            return
        # The end is marked, so that a shorter text needs only one call; between two calls the node could be killed.
        with _SAVING:
            text = json.dumps(self._read() | {self._name: values}).encode() + b"\0"
            self._open(os.O_RDWR, lambda fd: os.pwrite(fd, text, 0))

    def _read(self) -> dict[str, object]:
        text = self._open(os.O_RDONLY, lambda fd: os.pread(fd, LARGEST, 0)).partition(b"\0")[0]
        return parse_state(text) if text else {}

    def _open(self, flags: int, use: Callable[[int], Result]) -> Result:
        try:
            fd = os.open(self._path, flags | os.O_CLOEXEC)
            try:
                if not os.readlink(self._path).startswith(f"/memfd:{NAME}"):
                    raise StoredStateError(f"{self._path} is no memory of the launch")
                return use(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise StoredStateError(f"the memory of the launch ({self._path}): {error.strerror}") from None
