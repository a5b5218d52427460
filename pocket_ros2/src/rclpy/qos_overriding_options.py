"""Not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "QoS profiles overridden by parameters")
