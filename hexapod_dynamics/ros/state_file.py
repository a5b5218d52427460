"""The stored state of one node: its file, and its copy in the memory of the launch.

The file is replaced atomically, is on the disk when `write` returns, and is checked when it is read.

A node that is started again without its file cannot know from the file system whether it has stored a state
before. The launch makes one memory for each such process (`memfd_create`), keeps it open until the launch ends,
and passes its descriptor in the environment; the node opens it through /proc. No program deletes this memory, as it may
delete files. A node that was not started by a launch has none.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from hexapod_dynamics.errors import StoredStateError

MAX_SIZE = 1 << 20  # bytes; the declared damage of a robot takes some thousand
MEMORY_NAME = "hexapod_state"
MEMORY_VARIABLE = "HEXAPOD_LAUNCH_MEMORY"  # number of the memory's file descriptor in the launch process
_SAVING = threading.Lock()  # nodes of one process save in threads of their own


def parse_state(text: bytes) -> dict[str, object]:
    """Return the dict that `text` contains as JSON; raises StoredStateError for anything else."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f"it holds no JSON: {error or type(error).__name__}") from None
    if not isinstance(values, dict):
        raise StoredStateError(f"it holds {str(values)[:40]!r}, not names with values")
    return values


class StateFile:
    """The file `name` in a directory; `directory()` creates the directory if it is missing, checks it and returns
    its path.
    """

    def __init__(self, directory: Callable[[], Path], name: str) -> None:
        self._directory, self._name = directory, name
        self.path = directory() / name
        self._written: tuple[int, ...] | None = None  # identity of the file that `write` created last

    def read(self) -> dict[str, object] | None:
        """Return the values, None if there is no file; raises StoredStateError for a file that `write` has not
        written.
        """
        try:
            # Without O_NONBLOCK, a named pipe in its place would block.
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise StoredStateError("it is no file: remove it")
                with open(fd, "rb", closefd=False) as file:
                    text = file.read(MAX_SIZE + 1)
            finally:
                os.close(fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoredStateError(f"it cannot be read: {error.strerror}") from None
        if len(text) > MAX_SIZE:
            raise StoredStateError(f"it has more than {MAX_SIZE} bytes")
        return parse_state(text)

    def write(self, values: Mapping[str, object]) -> None:
        """Replace the file; afterwards file and directory are on the disk.

        Raises OSError or HexapodError if that fails; then the old file stays.
        """
        text = json.dumps(values).encode()
        self.path = self._directory() / self._name
        draft = self.path.with_suffix(".new")
        try:
            draft.write_bytes(text)
            _sync(draft)
            os.replace(draft, self.path)
        except OSError:
            draft.unlink(missing_ok=True)
            # A full file system refuses a new file, but the block of the old file can still be written to.
            with open(self.path, "r+b") as file:
                file.write(text)
                file.truncate()
            _sync(self.path)
        _sync(self.path.parent)
        self._written = self._identity()

    def is_untouched(self) -> bool:
        """Whether the file is still the one that `write` has created."""
        return self._written is not None and self._identity() == self._written

    def delete(self) -> None:
        """Delete the file, if there is one; raises OSError."""
        self.path.unlink(missing_ok=True)
        self._written = None

    def _identity(self) -> tuple[int, ...] | None:
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _sync(path: Path) -> None:
    """Wait until a file or directory is on the disk; raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_memory() -> dict[str, str]:
    """Make a memory in this process; return the environment variables for the process that uses it.

    It lasts until this process ends.
    """
    return {MEMORY_VARIABLE: str(os.memfd_create(MEMORY_NAME))}


class LaunchMemory:
    """The memory `number` of the launch process `launch`; `number` is the text in the environment, empty if there
    is none.

    The memory holds the state of each node of the process under its name.
    """

    def __init__(self, launch: int, number: str, name: str) -> None:
        self.exists = bool(launch and number)
        self._path, self._name = f"/proc/{launch}/fd/{number}", name
        if self.exists and not (number.isascii() and number.isdigit()):
            raise StoredStateError(f"{MEMORY_VARIABLE} is {number[:40]!r}, not the number of a file descriptor")

    def load(self) -> dict[str, object] | None:
        """Return the saved values, None if nothing was saved; raises StoredStateError if this cannot be
        determined.
        """
        if not self.exists:
            return None
        with self._open("rb") as memory:
            state = self._all(memory).get(self._name)
        if state is not None and not isinstance(state, dict):
            raise StoredStateError("the memory of the launch does not contain the stored state of a node")
        return state

    def save(self, values: Mapping[str, object]) -> None:
        """Save values; raises StoredStateError."""
        if not self.exists:
            return
        with _SAVING, self._open("r+b") as memory:
            text = json.dumps(self._all(memory) | {self._name: values}).encode()
            # The end is marked, so that a shorter text needs only one call; between two the node could be killed.
            os.pwrite(memory.fileno(), text + b"\0", 0)

    def _all(self, memory: IO[bytes]) -> dict[str, object]:
        text = os.pread(memory.fileno(), MAX_SIZE, 0).partition(b"\0")[0]
        return parse_state(text) if text else {}

    @contextlib.contextmanager
    def _open(self, mode: str) -> Iterator[IO[bytes]]:
        try:
            with open(self._path, mode, buffering=0) as memory:
                if not os.readlink(self._path).startswith(f"/memfd:{MEMORY_NAME}"):
                    raise StoredStateError(f"{self._path} is no memory of the launch")
                yield memory
        except OSError as error:
            raise StoredStateError(f"the memory of the launch ({self._path}): {error.strerror}") from None
