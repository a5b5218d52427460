"""Actions and substitutions of launch files that know ROS: nodes, parameters, remappings, namespaces, packages."""

from . import actions, descriptions, substitutions

__all__ = ["actions", "descriptions", "substitutions"]
