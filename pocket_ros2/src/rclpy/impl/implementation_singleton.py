"""Not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "the C part of rclpy")
