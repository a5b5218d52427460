"""Expands a topic name."""

from pocket_ros2 import names

from .validate_namespace import validate_namespace
from .validate_node_name import validate_node_name
from .validate_topic_name import validate_topic_name


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """Return the fully qualified form of a topic name as a node of this name and namespace sees it."""
    validate_topic_name(topic_name)
    validate_node_name(node_name)
    validate_namespace(node_namespace)
    return names.expand(topic_name, node_name, node_namespace)
