"""Actions and substitutions of launch files that know ROS: nodes, parameters, remappings, namespaces, packages."""

from launch.not_covered import not_covered

from pocket_ros2 import deep_modules  # also refuses to go beside a real ROS 2

from . import actions, descriptions, substitutions

deep_modules.install()
__getattr__ = not_covered(__name__, "event_handlers", "events", "ros_adapters")

__all__ = ["actions", "descriptions", "substitutions"]
