"""Messages of nav_msgs, made when they are first asked for."""

from pocket_ros2.messages import provide

provide(__name__)
