"""Actions: what launch descriptions are made of."""

from ..not_covered import not_covered
from .arguments import DeclareLaunchArgument
from .environment import (
    AppendEnvironmentVariable,
    PopEnvironment,
    PushEnvironment,
    ResetEnvironment,
    SetEnvironmentVariable,
    UnsetEnvironmentVariable,
)
from .events import EmitEvent, RegisterEventHandler, Shutdown, UnregisterEventHandler
from .execute_local import ExecuteLocal
from .execute_process import ExecuteProcess
from .group import GroupAction
from .include import IncludeLaunchDescription
from .launch_configurations import (
    PopLaunchConfigurations,
    PushLaunchConfigurations,
    ResetLaunchConfigurations,
    SetLaunchConfiguration,
    UnsetLaunchConfiguration,
)
from .log_info import LogInfo
from .opaque_function import OpaqueFunction
from .timer import TimerAction

__getattr__ = not_covered(__name__, "OpaqueCoroutine")

__all__ = [
    "AppendEnvironmentVariable",
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteLocal",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "PopEnvironment",
    "PopLaunchConfigurations",
    "PushEnvironment",
    "PushLaunchConfigurations",
    "RegisterEventHandler",
    "ResetEnvironment",
    "ResetLaunchConfigurations",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
    "UnregisterEventHandler",
    "UnsetEnvironmentVariable",
    "UnsetLaunchConfiguration",
]
