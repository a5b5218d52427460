"""A file with the state of one node: replaced atomically, on the disk when `write` returns, checked when it is
read.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

from hexapod_dynamics.errors import HexapodError, StoredStateError

LARGEST = 1 << 20  # bytes; the declared damage of a robot takes some thousand


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
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoredStateError(f"it cannot be opened: {error.strerror}") from None
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise StoredStateError("it is no file: remove it")
            if status.st_size > LARGEST:
                raise StoredStateError(f"it has {status.st_size} bytes, more than {LARGEST}")
            text = os.read(fd, LARGEST)
        except OSError as error:
            raise StoredStateError(f"it cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)
        return parse_state(text)

    def write(self, values: dict[str, object]) -> None:
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
                file.flush()
                os.fsync(file.fileno())
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
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


FAILURES = (OSError, HexapodError)  # exceptions of `StateFile.write`
