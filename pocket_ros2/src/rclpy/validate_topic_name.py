"""Checks a topic or service name that is not expanded yet."""

from pocket_ros2.names import topic_name_error

from .exceptions import InvalidServiceNameException, InvalidTopicNameException

TOPIC_SEPARATOR_STRING = "/"


def validate_topic_name(name: str, *, is_service: bool = False) -> bool:
    """Return True; InvalidTopicNameException or InvalidServiceNameException if the name is invalid."""
    bad = topic_name_error(name)
    if bad:
        raise (InvalidServiceNameException if is_service else InvalidTopicNameException)(name, *bad)
    return True
