"""Checks that a simulated serial port belongs to the intended simulator, by a locked file beside its link.

The kernel reuses the number of a pseudo-terminal after its simulator has died, but the link to it remains. Therefore
the simulator writes a record `<link>.owner` (its process, the device, the session of its launch) and locks it; the
kernel releases the lock when the process ends. A driver opens the link only if the record belongs to the same user, is
locked, has the same session and names the device that the link points to.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from pathlib import Path

from hexapod_dynamics.errors import DeviceError


def _record_of(link: str | os.PathLike) -> Path:
    link = Path(link)
    return link.with_name(f"{link.name}.owner")


class PortClaim:
    """The simulator's side: holds the record of the link while the process lives. Raises DeviceError if another living
    process holds it; who: its description for the message.
    """

    def __init__(self, link: str | os.PathLike, session: str = "", who: str = "simulator") -> None:
        self._record, self._session = _record_of(link), session
        self._fd = os.open(self._record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _check_owner(self._record, os.fstat(self._fd))
            _lock(self._fd)
        except (BlockingIOError, DeviceError) as error:
            other = _read(self._fd).get("pid", "unknown")
            os.close(self._fd)
            if isinstance(error, DeviceError):
                raise
            raise DeviceError(
                f"another {who} (process {other}) has {link}: end it by Ctrl-C; a second robot needs another "
                "ROS_DOMAIN_ID or another namespace (launch argument namespace:=)"
            ) from None

    def name(self, device: str) -> None:
        """Write to the record which device the link points to."""
        text = json.dumps({"pid": os.getpid(), "device": device, "session": self._session}).encode()
        os.pwrite(self._fd, text, 0)
        os.ftruncate(self._fd, len(text))

    def release(self) -> None:
        """Delete the record."""
        if self._fd >= 0:
            self._record.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def find_proved_device(link: str | os.PathLike, session: str = "") -> str:
    """Return the device behind a simulated port if it belongs to a living simulator of this user; else raise
    DeviceError. session: of this launch; if both sides have one, they must be equal.
    """
    link, record = Path(link), _record_of(link)
    start = "ros2 launch hexapod_dynamics walk.launch.py, with this namespace:="
    remedy = f"start it ({start}), or give the parameter port of a real robot"
    try:
        fd = os.open(record, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise DeviceError(f"servo port {link} does not exist: no simulator is up; {remedy}") from None
    except OSError as error:
        raise DeviceError(f"servo port {link}: {record} cannot be read ({error})") from error
    try:
        _check_owner(record, os.fstat(fd))
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            values = _read(fd)  # locked: its simulator lives
        else:
            raise DeviceError(f"servo port {link} was left by a simulator that has died: it is not opened; {remedy}")
    finally:
        os.close(fd)
    device = values.get("device")
    theirs = values.get("session")
    if session and theirs and session != theirs:
        raise DeviceError(
            f"servo port {link} belongs to the simulator of another launch (process {values.get('pid')}): end that "
            "one, or give one of them another ROS_DOMAIN_ID or namespace"
        )
    try:
        target = os.readlink(link)
    except OSError:
        target = None
    if not device or target != device:
        raise DeviceError(
            f"servo port {link} points to {target}, its simulator serves {device or 'nothing'}: it is not opened"
        )
    return device


def _lock(fd: int) -> None:
    """Take the lock; a driver that checks it holds it for a moment."""
    for _ in range(20):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.01)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check_owner(record: Path, info: os.stat_result) -> None:
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o022 or not stat.S_ISREG(info.st_mode):
        raise DeviceError(f"{record} is not a file that only this user can write to: remove it")


def _read(fd: int) -> dict:
    try:
        values = json.loads(os.pread(fd, 4096, 0) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
