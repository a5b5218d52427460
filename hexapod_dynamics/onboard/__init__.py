"""The robot's program without ROS: pure classes for what each node does; plain data in, plain data out."""
