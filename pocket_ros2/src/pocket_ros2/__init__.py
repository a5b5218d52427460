"""Implementation of pocket ROS 2: wire format, message types, graph, arguments. Users import rclpy and the message
packages.

Every package of this project imports this one, so that none of them is used beside a real ROS 2.
"""

from . import errors  # noqa: F401  lets the import of a module of ROS 2 that is not covered say so
from .beside import refuse_beside_real_ros2

refuse_beside_real_ros2()
