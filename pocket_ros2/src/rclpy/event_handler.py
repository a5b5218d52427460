"""Not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "rclpy.event_handler (newer than ROS 2 Humble; it is rclpy.qos_event)")
