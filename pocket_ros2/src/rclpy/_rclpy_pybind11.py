"""The exceptions that rclpy's C++ part defines, under the name by which programs import them."""

from pocket_ros2.arguments import UnknownROSArgsError as UnknownROSArgsError


class InvalidHandle(Exception):
    """Raised when something destroyed is used."""


class RCLError(RuntimeError):
    """Raised when an operation of the client library fails."""


class NodeNameNonExistentError(RCLError):
    """Raised when the graph is asked about a node that is not there."""
