"""Services of std_srvs, created on first use."""

from pocket_ros2.messages import provide

provide(__name__)
