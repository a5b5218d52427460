"""Import packages that a ROS 2 brings; pip does not know most of them."""

ROS = {
    "ament_index_python", "builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "launch", "launch_ros", "nav_msgs",
    "rcl_interfaces", "rclpy", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs", "tf2_ros",
    "trajectory_msgs", "visualization_msgs",
}  # fmt: skip
