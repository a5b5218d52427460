"""std_srvs of ROS 2 Humble."""
