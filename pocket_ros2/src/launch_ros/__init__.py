"""Actions and substitutions of launch files that know ROS: nodes, parameters, remappings, namespaces, packages."""

import pocket_ros2  # noqa: F401  refuses to be imported beside a real ROS 2

from . import actions, descriptions, substitutions

__all__ = ["actions", "descriptions", "substitutions"]
