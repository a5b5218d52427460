"""The stop socket in the node `servos`: it accepts requests for the emergency stop, without ROS.

The socket is in the private directory of the simulated devices (mode 0700), and each caller must be the same user, or
root. A caller can only request a stop, not end one.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

from hexapod_dynamics.drivers.stop_request import STOP
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread
from hexapod_dynamics.errors import DeviceError

_PRIORITY = 13  # real-time priority where permitted: above that of the bus thread
_CHECK = 1.0  # [s] between two checks that the socket still exists
_PATIENCE = 1.0  # [s] for which a caller may send nothing
_MOST = 16  # callers at a time


class StopSocket:
    """Listens at `path` and calls stop() for each request, in a thread of its own.

    stop() -> (success, message) is the answer. If the path is deleted, the socket is made again within a second.

    Raises DeviceError if the path cannot be used: another node listens there, or the file system refuses it.
    """

    def __init__(self, path: str, stop: Callable[[], tuple[bool, str]]) -> None:
        self.path, self._stop = path, stop
        self._listener, self._identity = self._listen()
        self._callers: dict[socket.socket, float] = {}  # (monotonic time [s] of the connection)
        self._wake, self._ring = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stop_socket", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and delete the socket."""
        os.write(self._ring, b"x")
        self._thread.join(2.0)
        if self._is_there():
            os.unlink(self.path)
        for each in (self._listener, *self._callers):
            each.close()
        os.close(self._ring)
        os.close(self._wake)

    def _listen(self) -> tuple[socket.socket, tuple[int, int]]:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        try:
            if _answers(self.path):
                raise DeviceError(f"another node listens at {self.path}: local stop requests go to that one")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)  # left by a node that was killed
            listener.bind(self.path)
            os.chmod(self.path, 0o600)
            listener.listen(_MOST)
            status = os.stat(self.path)
        except OSError as error:
            listener.close()
            raise DeviceError(
                f"the stop socket {self.path} cannot be made ({error}): the service emergency_stop works without it; "
                "a shorter path for HEXAPOD_DYNAMICS_RUNTIME may help"
            ) from error
        except DeviceError:
            listener.close()
            raise
        return listener, (status.st_dev, status.st_ino)

    def _is_there(self) -> bool:
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _run(self) -> None:
        prefer_this_thread(_PRIORITY)
        check = time.monotonic() + _CHECK
        while True:
            wait = max(check - time.monotonic(), 0.0)
            watched: list[socket.socket | int] = [self._wake, self._listener, *self._callers]
            ready = select.select(watched, [], [], wait)[0]
            if self._wake in ready:
                return
            if self._listener in ready:
                self._accept()
            for caller in [each for each in self._callers if each in ready]:
                self._serve(caller)
            now = time.monotonic()
            if now >= check:
                check = now + _CHECK
                self._tidy(now)

    def _accept(self) -> None:
        try:
            caller, _ = self._listener.accept()
        except OSError:  # the caller has closed the connection
            return
        caller.setblocking(False)
        user = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if user not in (os.geteuid(), 0) or len(self._callers) >= _MOST:
            caller.close()
            return
        self._callers[caller] = time.monotonic()
        self._serve(caller)  # the request usually arrives together with the connection

    def _serve(self, caller: socket.socket) -> None:
        try:
            word = caller.recv(1)
        except BlockingIOError:
            return
        except OSError:
            word = b""
        if word == STOP:
            success, message = self._stop()
            with contextlib.suppress(OSError):  # the connection is closed; the robot is stopped all the same
                caller.send(f"{int(success)} {' '.join(message.split())}\n".encode())
        del self._callers[caller]
        caller.close()

    def _tidy(self, now: float) -> None:
        """Close silent callers; make the socket again if it was deleted."""
        for caller in [each for each, since in self._callers.items() if now - since > _PATIENCE]:
            del self._callers[caller]
            caller.close()
        if not self._is_there():
            # no directory, or another node listens: the next attempt is in a second
            with contextlib.suppress(DeviceError):
                listener, self._identity = self._listen()
                self._listener.close()
                self._listener = listener


def _answers(path: str) -> bool:
    """Whether somebody listens at the path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(path)
        except BlockingIOError:  # its queue is full: somebody listens
            return True
        except OSError:
            return False
    return True
