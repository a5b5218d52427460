"""Actions that know ROS."""
from launch.not_covered import not_covered

from .node import Node
from .scope import PushRosNamespace, SetParameter, SetParametersFromFile, SetRemap, SetUseSimTime

__getattr__ = not_covered(__name__, 'ComposableNodeContainer', 'LifecycleNode', 'LoadComposableNodes', 'RosTimer')

__all__ = ['Node', 'PushRosNamespace', 'SetParameter', 'SetParametersFromFile', 'SetRemap', 'SetUseSimTime']
