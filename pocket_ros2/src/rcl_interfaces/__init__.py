"""rcl_interfaces of ROS 2 Humble."""
