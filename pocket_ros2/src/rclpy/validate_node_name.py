"""Checks a node name."""

from pocket_ros2.names import node_name_error

from .exceptions import InvalidNodeNameException


def validate_node_name(node_name: str) -> bool:
    """Return True; InvalidNodeNameException if the name is invalid."""
    bad = node_name_error(node_name)
    if bad:
        raise InvalidNodeNameException(node_name, *bad)
    return True
