"""Actions that know ROS."""

from launch.not_covered import not_covered

from .node import Node
from .scope import PushRosNamespace, SetParameter, SetParametersFromFile, SetRemap

__getattr__ = not_covered(
    __name__, "ComposableNodeContainer", "LifecycleNode", "LoadComposableNodes", "RosTimer", "SetUseSimTime"
)  # of the launch's own node, for RosTimer

__all__ = ["Node", "PushRosNamespace", "SetParameter", "SetParametersFromFile", "SetRemap"]
