"""The stop socket in the node `servos`: it accepts requests for the emergency stop, without ROS.

The socket is in the private directory of the simulated devices (mode 0700), and each caller must be the same user, or
root. A caller can only request a stop, not end one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable

from hexapod_dynamics.drivers.stop_request import STOP_BYTE, socket_path
from hexapod_dynamics.drivers.thread_priority import raise_thread_priority
from hexapod_dynamics.errors import DeviceError, UnsafePathError

_log = logging.getLogger(__name__)
_PRIORITY = 13  # real-time priority where permitted: above that of the bus thread


class _Caller(socketserver.BaseRequestHandler):
    """One caller: a request, or nothing for a second; the same user or root."""

    server: StopSocket

    def handle(self) -> None:
        user = struct.unpack("3i", self.request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if user not in (os.geteuid(), 0) or not self.server.places.acquire(blocking=False):
            return
        raise_thread_priority(_PRIORITY)
        try:
            self.request.settimeout(1.0)
            word = b""
            with contextlib.suppress(OSError):  # it says nothing, or has closed the connection
                word = self.request.recv(1)
            if word == STOP_BYTE:
                success, message = self.server.stop()
                with contextlib.suppress(OSError):  # the connection is closed; the robot is stopped all the same
                    self.request.sendall(f"{int(success)} {' '.join(message.split())}\n".encode())
        finally:
            self.server.places.release()


class StopSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens for the robot of a namespace and calls stop() for each request, in a thread for each caller if possible,
    of at most 16 at a time.

    stop() -> (success, message) is the answer. If the path is deleted, the socket is made again within a second.
    path: of the socket. fault: why it cannot be made (another node listens there, others could have put it there, or
    the file system refuses it), else empty; it is tried again every second.
    """

    daemon_threads = True
    request_queue_size = 16
    timeout = 1.0  # [s] between two checks that the socket still exists

    def __init__(self, namespace: str, stop: Callable[[], tuple[bool, str]]) -> None:
        super().__init__("", _Caller, bind_and_activate=False)
        self.path, self.stop, self._ending = "", stop, False
        self._namespace = namespace
        self.places = threading.Semaphore(self.request_queue_size)  # for callers
        self._identity, self.fault = (0, 0), ""
        self._try_to_listen()
        self._thread = threading.Thread(target=self._run, name="stop_socket", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and delete the socket."""
        self._ending = True
        with contextlib.suppress(OSError):
            is_listening(self.path)  # wakes the thread
        self._thread.join(2.0)
        if self._is_there():
            os.unlink(self.path)
        self.server_close()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Serve a caller in a thread, or here if no thread can be started: a stop needs no further resource."""
        try:
            super().process_request(request, client_address)
        except (RuntimeError, MemoryError):
            self.process_request_thread(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log the present exception; others are served all the same."""
        _log.exception("a local request for the emergency stop has failed")

    def _try_to_listen(self) -> None:
        try:
            self._listen()
            self.fault = ""
        except (DeviceError, UnsafePathError, OSError) as error:
            self.fault = str(error)

    def _listen(self) -> None:
        """Make the socket, in place of one that a killed node has left or that was deleted."""
        self.path = path = socket_path(self._namespace)
        listener = socket.socket(socket.AF_UNIX)
        try:
            if is_listening(path):
                raise DeviceError(f"another node listens at {path}: local stop requests go to that one")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            listener.bind(path)
            os.chmod(path, 0o600)
            listener.listen(self.request_queue_size)
            status = os.stat(path)
        except (OSError, DeviceError) as error:
            listener.close()
            if isinstance(error, DeviceError):
                raise
            raise DeviceError(
                f"the stop socket {path} cannot be made ({error}): the service emergency_stop works without it; "
                "a shorter path for HEXAPOD_DYNAMICS_RUNTIME may help"
            ) from error
        self.socket.close()
        self.socket, self._identity = listener, (status.st_dev, status.st_ino)

    def _is_there(self) -> bool:
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _run(self) -> None:
        raise_thread_priority(_PRIORITY)
        while not self._ending:
            if self.fault:
                time.sleep(self.timeout)
            else:
                self.handle_request()
            if not self._ending and not self._is_there():
                self._try_to_listen()


def is_listening(path: str) -> bool:
    """Whether somebody listens at the path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)  # its queue may be full
        try:
            probe.connect(path)
        except OSError as error:
            return isinstance(error, (BlockingIOError, TimeoutError))  # its queue is full: somebody listens
    return True
