"""Directories for files that other users must not replace, with checks of owner and mode.

`private_directory` holds files that the processes of a session share: simulated devices, state restored after a crash.
It is not below $XDG_RUNTIME_DIR, because that directory is deleted at log-out while a robot may still walk, and
programs without a log-in (systemd, cron, docker exec) do not have it. As with tmux, it is a directory of mode 0700
in /tmp.

The imports of this module delay `hexapod-stop`: it imports only modules that Python has loaded at its start, and
pathlib only if a Path is needed.
"""

from __future__ import annotations

import os
import stat

from hexapod_dynamics.errors import UnsafePathError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

VARIABLE, DOMAIN, SESSION = "HEXAPOD_DYNAMICS_RUNTIME", "ROS_DOMAIN_ID", "HEXAPOD_DYNAMICS_SESSION"
MOST_DOMAIN = 232  # the highest ROS domain whose ports exist
LONGEST_SESSION = 64  # characters of a session's name
SESSION_END = ":"  # between a session's name and the rest of a file's name: neither a session nor a node has it
SERVO_BUS, IMU_BUS = "servo_bus", "imu.sock"  # of the simulated devices
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def runtime_path() -> str:
    """Directory of this user: $HEXAPOD_DYNAMICS_RUNTIME, else /tmp/hexapod_dynamics-UID; it need not exist.

    Not tempfile.gettempdir(): two programs with different TMPDIR would not find each other, and a socket's path is
    short.
    """
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return f"/tmp/hexapod_dynamics-{os.geteuid()}"
    return os.path.join(os.getcwd(), os.path.expanduser(chosen)).rstrip("/") or "/"


def private_directory(*names: str) -> Path:
    """Return the directory `names` below `runtime_path`; it is created with mode 0700 if it is missing.

    Raises UnsafePathError if one of them is not a directory, belongs to another user or is writable for others, if
    another user could replace them through a parent, or if they cannot be created.
    """
    from pathlib import Path

    return Path(private_path(*names))


def private_path(*names: str) -> str:
    """Return `private_directory` as text."""
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise UnsafePathError(f"{name!r} cannot be the name of a directory: give a name without '/', not '..'")
    base = runtime_path()
    return _make_private([os.path.join(base, *names[:depth]) for depth in range(len(names) + 1)], VARIABLE)


def make_directory(path: str | Path, setting: str) -> Path:
    """Return the directory at an absolute path, checked and created as in `private_directory`.

    setting: the variable or parameter that contains the path, for the messages. Raises UnsafePathError.
    """
    from pathlib import Path

    chosen = Path(path).expanduser()
    if not chosen.is_absolute() or ".." in chosen.parts:
        raise UnsafePathError(f"{setting} is {str(path)!r}: give an absolute path without '..', as /var/lib/hexapod")
    return Path(_make_private([str(chosen)], setting))


def ros_domain() -> int:
    """Number of the ROS domain: $ROS_DOMAIN_ID, else 0. Raises UnsafePathError if it is no number from 0 to 232."""
    text = os.environ.get(DOMAIN, "").strip() or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= MOST_DOMAIN):
        raise UnsafePathError(f"{DOMAIN} is {_shorten(text)}: give a whole number from 0 to {MOST_DOMAIN}")
    return int(text)


def check_session(name: str) -> str:
    """Return the name of a session if it is safe as a part of file names; else raises UnsafePathError."""
    known = name.isascii() and name.replace("_", "a").replace("-", "a").replace(".", "a").isalnum()
    if not known or name.startswith(".") or len(name) > LONGEST_SESSION:
        raise UnsafePathError(
            f"the session ({SESSION}, parameter session) is {_shorten(name)}: give up to 64 letters, digits, '_', "
            "'-' or '.', the first of them no '.'"
        )
    return name


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


def forget_session(session: str, namespace: str) -> None:
    """Delete what the nodes of the robot with a namespace have stored in a session (ros.crash_recovery).

    Raises UnsafePathError as `private_directory`, OSError if a file cannot be deleted.
    """
    start = check_session(session) + SESSION_END + "".join(f"{name}." for name in namespace.split("/") if name)
    for file in private_directory("sessions").iterdir():
        if file.name.startswith(start) and file.name[len(start) :].count(".") == 1:  # else of a robot below it
            file.unlink(missing_ok=True)


def device_directory(namespace: str = "/") -> Path:
    """Directory of the simulated devices in this ROS domain; it is created if missing, and no other user can write to
    it.

    Raises UnsafePathError as `ros_domain`, or if another user could have put the devices there.
    """
    from pathlib import Path

    return Path(device_path(namespace))


def device_path(namespace: str = "/") -> str:
    """Return `device_directory` as text, without importing anything."""
    number, inner = ros_domain(), namespace.strip("/").replace("/", ".")
    return private_path(f"{number}.{inner}" if inner else str(number))


def calibration_file(bus: str, address: int) -> Path:
    """Return the file of an IMU's offsets below $ROS_HOME (~/.ros), one a bus and address; it need not exist."""
    return ros_home() / "hexapod_dynamics" / f"imu_offsets.{bus.strip('/').replace('/', '.')}.0x{address:02x}.json"


def ros_home() -> Path:
    """Directory for files that persist over sessions, as in ROS: $ROS_HOME, else ~/.ros; it need not exist."""
    from pathlib import Path

    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser()


def find_distrust_reason(status: os.stat_result, also_trusted: int = 0) -> str:
    """Return why another user could have changed a file or directory with this `os.stat_result`; empty if none could.

    This user, root and the user `also_trusted` are trusted. A directory with the sticky bit may be writable by
    others, because they cannot replace files of this user.
    """
    if status.st_uid not in (os.geteuid(), 0, also_trusted):
        return f"it belongs to user {status.st_uid}, this program runs as user {os.geteuid()}"
    if status.st_mode & WRITABLE_BY_OTHERS and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
        return f"other users may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _make_private(levels: list[str], setting: str) -> str:
    """Create the directories `levels`, each below the previous one, closed to others; return the last.

    Raises UnsafePathError with the remedy.
    """
    path = levels[0]
    try:
        _make_parents(os.path.dirname(path))
        _check_parents(path, setting)
        for path in levels:
            _make_directory(path, 0o700)
            wrong = _close(path)
            if wrong:
                break
        else:
            return path
    except OSError as error:
        wrong = f"cannot be made a directory: {error.strerror}"
    raise UnsafePathError(
        f"{path} {wrong}. Name a directory of your own in {setting}, or remove {path} if it is yours."
    )


def _make_directory(path: str, mode: int) -> None:
    """Create a directory, unless there is one or a link to one."""
    try:
        os.mkdir(path, mode)
    except OSError:
        if not os.path.isdir(path):
            raise


def _parents(path: str) -> list[str]:
    """The directories above an absolute path, from the nearest to "/"."""
    found = []
    while path not in ("/", "//"):
        path = os.path.dirname(path)
        found.append(path)
    return found


def _make_parents(path: str) -> None:
    """Create missing directories, not writable for others, regardless of the umask."""
    for missing in reversed([each for each in (path, *_parents(path)) if not os.path.exists(each)]):
        _make_directory(missing, 0o755)


def _check_parents(path: str, setting: str) -> None:
    """Raise UnsafePathError if another user could replace `path` through one of the directories above it.

    Links in the path and their targets are checked. The owner of "/" is trusted; in a user namespace this is not
    the user number 0.
    """
    root = os.stat("/").st_uid
    real = os.path.realpath(os.path.dirname(path))
    for parent in {*_parents(path), *_parents(real), real}:
        status = os.lstat(parent)
        if stat.S_ISLNK(status.st_mode):  # the mode of a link means nothing; its target is checked, too
            wrong = "" if status.st_uid in (os.geteuid(), 0, root) else f"it is a link of user {status.st_uid}"
        else:
            wrong = find_distrust_reason(status, root)
        if wrong:
            raise UnsafePathError(
                f"{path} is not used, because of the directory {parent} above it: {wrong}. Name a directory that only "
                f"you can replace in {setting}."
            )


def _close(path: str) -> str:
    """Make a directory unreadable for others, if it is this user's and nobody else may write to it; else return what
    is wrong with it.
    """
    status = os.lstat(path)  # not stat, which would follow a symbolic link of somebody else
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        return "is no directory"
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, this program runs as user {os.geteuid()}"
    if mode & WRITABLE_BY_OTHERS:
        return f"may be written to by other users (mode {mode:04o})"
    if mode & 0o077:
        os.chmod(path, mode & ~0o077)
    return ""
