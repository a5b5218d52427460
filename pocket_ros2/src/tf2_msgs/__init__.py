"""tf2_msgs of ROS 2 Humble."""
