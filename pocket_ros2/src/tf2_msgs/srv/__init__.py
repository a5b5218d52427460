"""Services of tf2_msgs, created on first use."""

from pocket_ros2.messages import provide

provide(__name__)
