"""Directories for files that other users must not replace, with checks of owner and mode.

`private_directory` holds files that the processes of a session share: simulated devices, state restored after a crash.
It is not below $XDG_RUNTIME_DIR, because that directory is deleted at log-out while a robot may still walk, and
programs without a log-in (systemd, cron, docker exec) do not have it. As for tmux, it is a directory of mode 0700 in
/tmp.
"""

from __future__ import annotations

import glob
import os
import stat
from pathlib import Path

from hexapod_dynamics.errors import UnsafePathError

VARIABLE = "HEXAPOD_DYNAMICS_RUNTIME"
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def runtime_directory() -> Path:
    """Directory of this user: $HEXAPOD_DYNAMICS_RUNTIME, else /tmp/hexapod_dynamics-UID; it need not exist."""
    chosen = os.environ.get(VARIABLE)
    # Not tempfile.gettempdir(): two programs with different TMPDIR would not find each other, and a socket's path is
    # short.
    return Path(chosen).expanduser().absolute() if chosen else Path(f"/tmp/hexapod_dynamics-{os.geteuid()}")


def private_directory(*names: str) -> Path:
    """Directory `names` below `runtime_directory`, made with mode 0700 where it is missing.

    Raises UnsafePathError where one of them is no directory, belongs to another user or lets others write, and where it
    cannot be made.
    """
    base = runtime_directory()
    levels = [base.joinpath(*names[:depth]) for depth in range(len(names) + 1)]
    for path in levels:
        try:
            path.mkdir(mode=0o700, parents=path is base, exist_ok=True)
        except OSError as error:
            raise UnsafePathError(f"{path} cannot be made a directory: {error.strerror}. {_remedy(path)}") from error
        _close(path)
    return levels[-1]


def forget_session(session: str) -> None:
    """Delete what the nodes of a launch have stored for their respawn (nodes.crash_recovery).

    Raises UnsafePathError as `private_directory`, OSError where a file cannot be deleted.
    """
    for file in private_directory("sessions").glob(f"{glob.escape(session)}.*"):
        file.unlink(missing_ok=True)


def ros_home() -> Path:
    """Directory for files that persist over sessions, as in ROS: $ROS_HOME, else ~/.ros; it need not exist."""
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser()


def reason_for_distrust(status: os.stat_result) -> str:
    """Return why another user could have changed a file or directory with this `os.stat_result`; empty if none could.

    Trusted are this user and root. A directory with the sticky bit may be writable by others: they cannot replace files
    of this user.
    """
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {status.st_uid}, this program runs as user {os.geteuid()}"
    if status.st_mode & WRITABLE_BY_OTHERS and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
        return f"other users may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _close(path: Path) -> None:
    """Check that a directory is this user's own and nobody else may write to it; then nobody else may read it."""
    status = os.lstat(path)  # not where a symbolic link of somebody else leads
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafePathError(f"{path} is no directory. {_remedy(path)}")
    if status.st_uid != os.geteuid():
        raise UnsafePathError(
            f"{path} belongs to user {status.st_uid}, this program runs as user {os.geteuid()}. {_remedy(path)}"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & WRITABLE_BY_OTHERS:
        raise UnsafePathError(f"other users may write to {path} (mode {mode:04o}). {_remedy(path)}")
    if mode & 0o077:
        os.chmod(path, mode & ~0o077)


def _remedy(path: Path) -> str:
    return f"Remove {path}, or name a directory of your own in {VARIABLE}."
