"""The inside of pocket ROS 2: wire, message types, graph, arguments. Users import rclpy and the message packages."""
