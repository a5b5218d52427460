"""Not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "type hashes (newer than ROS 2 Humble)")
