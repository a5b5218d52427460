"""Expands a topic name."""

from pocket_ros2 import names

from .validate_namespace import validate_namespace
from .validate_node_name import validate_node_name


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """Return the fully qualified form of a topic name in a node; ValueError if the topic name is invalid."""
    validate_node_name(node_name)
    validate_namespace(node_namespace)
    bad = names.topic_name_error(topic_name)
    if bad:
        raise ValueError(f"topic name '{topic_name}' is invalid: topic name is invalid ({bad.reason})")
    try:
        return names.expand(topic_name, node_name, node_namespace)
    except ValueError as error:
        raise ValueError(f"topic name '{topic_name}' is invalid: {error}") from None
