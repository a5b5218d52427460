"""Not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "parameter clients (newer than ROS 2 Humble)")
