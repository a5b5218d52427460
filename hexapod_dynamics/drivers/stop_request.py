"""Asks the node `servos` of this computer and user for the emergency stop, over a UNIX socket and without ROS.

A ROS client imports rclpy, joins the network and discovers the service: 0.4 s of processor time, seconds on a loaded
computer. Here the stop is one byte in a local socket. This module imports only modules that Python has loaded at
its start or that are written in C (_socket without the enumerations of socket), because imports determine the
delay of `hexapod-stop`.
"""

from __future__ import annotations

import _socket
import os
import select
import time

from hexapod_dynamics.errors import UnsafePathError
from hexapod_dynamics.runtime_directory import device_path

SOCKET = "stop.sock"
STOP_BYTE = b"s"
MAX_ANSWER_SIZE = 4096  # bytes of an answer


def socket_path(namespace: str = "") -> str:
    """Path of the stop socket of a robot; its directory is private to the user.

    Raises UnsafePathError where another user could have put a socket there.
    """
    return os.path.join(device_path(namespace), SOCKET)


def resume_command(namespace: str = "") -> str:
    """Return the command, in words for people, that ends the emergency stop of a robot."""
    which = namespace.strip("/")
    return f"stop --resume --namespace {which}" if which else "stop --resume"


class StopRequest:
    """One request for the emergency stop; it is sent by the constructor.

    namespace: of the robot, as in walk.launch.py. sent: whether a node `servos` has taken the connection.
    """

    def __init__(self, namespace: str = "") -> None:
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        self._received = b""
        try:
            self._socket.connect(socket_path(namespace))
            self._socket.send(STOP_BYTE)
            self.sent = True
        # there is no node, or it belongs to another user or computer; the service reaches such a node
        except (OSError, UnsafePathError):
            self.sent = False

    def wait_for_answer(self, timeout: float) -> tuple[bool, str] | None:
        """Wait up to `timeout` [s]; return (whether the stop was sent to the servos and stored, message), else None."""
        end = time.monotonic() + timeout
        while self.sent and not self._received.endswith(b"\n"):
            if not select.select([self._socket], [], [], max(end - time.monotonic(), 0.0))[0]:
                return None
            try:
                more = self._socket.recv(MAX_ANSWER_SIZE)
            except OSError:
                more = b""
            if not more:
                self.sent = False  # the node has ended without an answer
            self._received += more
        if not self.sent:
            return None
        success, _, message = self._received.decode(errors="replace").rstrip("\n").partition(" ")
        return success == "1", message

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
