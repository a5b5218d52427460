"""Messages of builtin_interfaces, created on first use."""

from pocket_ros2.messages import provide

provide(__name__)
