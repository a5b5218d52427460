"""What ROS 2's wheels on PyPI lack: launch files, the command `ros2`, tf2's broadcasters and message."""
