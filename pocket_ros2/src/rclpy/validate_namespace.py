"""Checks a namespace."""

from pocket_ros2.names import full_name_error

from .exceptions import InvalidNamespaceException


def validate_namespace(namespace: str) -> bool:
    """Return True; InvalidNamespaceException if the namespace is invalid."""
    bad = full_name_error(namespace, "namespace")
    if bad:
        raise InvalidNamespaceException(namespace, *bad)
    return True
