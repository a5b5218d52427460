"""Compiled code kept on disk between runs: in $HEXAPOD_DYNAMICS_CACHE, else $XDG_CACHE_HOME/hexapod_dynamics.

The key of an entry is a digest of its sources, of the compiler and of the processor, so an upgrade uses no old entry.
Files are created by atomic renaming, so several processes may start at once; each contains a digest, so a corrupted
file is compiled again instead of executed. Entries that another user could have written are not read, because their
content is executed. If the directory cannot be written or trusted, the code is compiled at every start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from hexapod_dynamics.runtime_directory import WRITABLE_BY_OTHERS, reason_for_distrust

DIGEST_SIZE = 32
# without O_NONBLOCK, opening a named pipe would wait
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
PACKAGE = Path(__file__).resolve().parent


def cache_directory() -> Path:
    """Directory of compiled code; it need not exist."""
    chosen = os.environ.get("HEXAPOD_DYNAMICS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hexapod_dynamics"


def entry_directory_of(family: str, key: str) -> Path:
    """Directory of code; the key contains everything that the code depends on."""
    return _entry(family, hashlib.sha256(key.encode()).hexdigest()[:24])


def _entry(family: str, key: str) -> Path:
    return cache_directory() / f"{family}-{key}"


def _trusted(path: Path) -> bytes | None:
    """Return all bytes of a file; None if another user could have written it."""
    try:
        # The opened file itself is checked; a path could be changed to a link in between.
        with os.fdopen(os.open(path, FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            reason = reason_for_distrust(status) if stat.S_ISREG(status.st_mode) else "it is no file"
            if reason:
                warn_unusable(f"{path}: {reason}")
                return None
            content = file.read()
        refused = _distrusted(path.parent)
    except OSError:
        return None
    if refused:
        warn_unusable(refused)
        return None
    return content


def _write(path: Path, content: bytes) -> None:
    try:
        if not path.parent.is_dir():
            _make_directory(path.parent)
            _discard_old(path.parent)
        refused = _distrusted(path.parent)
        if refused:
            warn_unusable(refused)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        warn_unusable(str(error))


def write_library(path: Path, code: bytes) -> None:
    """Write a shared library atomically, and append its digest, which loaders ignore.

    If that fails, a warning says so, and the program continues without the cache.
    """
    _write(path, code + hashlib.sha256(code).digest())


def library_to_open(path: Path) -> bool:
    """Return whether a shared library exists, is complete and belongs to this user, so that it may be opened.

    Nobody else can exchange it afterwards: the directories are this user's, too.
    """
    content = _trusted(path)
    return content is not None and hashlib.sha256(content[:-DIGEST_SIZE]).digest() == content[-DIGEST_SIZE:]


def _make_directory(directory: Path) -> None:
    """Create the cache and a directory of entries in it, writable for this user only, regardless of the umask."""
    top = directory.parent
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(top)
    if status.st_uid == os.geteuid() and status.st_mode & WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
        # an earlier version created it and obeyed the umask
        os.chmod(top, status.st_mode & ~WRITABLE_BY_OTHERS & 0o7777)
    directory.mkdir(mode=0o700, exist_ok=True)


def _distrusted(directory: Path) -> str:
    """Return which directory of an entry another user could have changed, and why; an empty text if none.

    The files belong to this user, but somebody with write access to the directory could exchange them.
    """
    for place, status in ((directory, os.lstat(directory)), (directory.parent, os.stat(directory.parent))):
        reason = reason_for_distrust(status) if stat.S_ISDIR(status.st_mode) else "it is no directory"
        if reason:
            return f"{place}: {reason}"
    return ""


def _discard_old(directory: Path) -> None:
    """Remove entries of earlier versions of the module that were not written to for a month."""
    family = directory.name.rpartition("-")[0]
    for sibling in directory.parent.glob(f"{family}-*"):
        if sibling != directory and time.time() - sibling.stat().st_mtime > 30 * 24 * 3600:
            shutil.rmtree(sibling, ignore_errors=True)


@cache
def warn_unusable(reason: str) -> None:
    """Say once why compiled code cannot be kept or used."""
    print(
        f"hexapod_dynamics: compiled code cannot be kept ({reason}); it is compiled at every start. "
        "Set HEXAPOD_DYNAMICS_CACHE to a directory of your own.",
        file=sys.stderr,
    )
