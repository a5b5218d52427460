"""The command `ros2`: thin verbs over rclpy, loaded one at a time so that each starts quickly."""

from .parser import main

__all__ = ["main"]
