"""Tells hidden names."""

from pocket_ros2 import names

HIDDEN_TOPIC_PREFIX = "_"
TOPIC_SEPARATOR_STRING = "/"


def topic_or_service_is_hidden(name: str) -> bool:
    """Return whether a part of the name starts with an underscore."""
    return names.is_hidden(name)
