"""Actions: what launch descriptions are made of."""

from ros2_tools.errors import not_covered

from .execute_process import ExecuteProcess
from .flow import EmitEvent, LogInfo, OpaqueFunction, RegisterEventHandler, Shutdown, TimerAction
from .scope import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
)

__all__ = [
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "RegisterEventHandler",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
]
__getattr__ = not_covered(__name__, __all__)
