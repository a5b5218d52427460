"""Transform broadcasters of tf2; the rest of tf2_ros is not covered."""

from __future__ import annotations

from typing import NoReturn

from pocket_ros2.errors import NotCoveredImport

from .static_transform_broadcaster import StaticTransformBroadcaster as StaticTransformBroadcaster
from .transform_broadcaster import TransformBroadcaster as TransformBroadcaster

_ABSENT = (
    "Buffer",
    "BufferClient",
    "BufferCore",
    "BufferInterface",
    "BufferServer",
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "NotImplementedException",
    "TimeoutException",
    "TransformException",
    "TransformListener",
    "TransformRegistration",
    "TypeException",
)


def __getattr__(name: str) -> NoReturn:
    if name in _ABSENT:
        raise NotCoveredImport(f"tf2_ros.{name}", "listening to transforms, only broadcasting them")
    raise AttributeError(f"module 'tf2_ros' has no attribute {name!r}")
