"""Actions are not covered."""

from pocket_ros2.errors import NotCoveredImport

raise NotCoveredImport(__name__, "actions")
