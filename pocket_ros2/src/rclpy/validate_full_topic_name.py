"""Checks a fully qualified topic or service name."""

from pocket_ros2.names import full_name_error

from .exceptions import InvalidServiceNameException, InvalidTopicNameException


def validate_full_topic_name(name: str, *, is_service: bool = False) -> bool:
    """Return True; InvalidTopicNameException or InvalidServiceNameException if the name is invalid."""
    bad = full_name_error(name)
    if bad:
        raise (InvalidServiceNameException if is_service else InvalidTopicNameException)(name, *bad)
    return True
