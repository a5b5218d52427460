"""Transform broadcasters of tf2; the rest of tf2_ros is not covered."""

from __future__ import annotations

from typing import Any, NoReturn

from pocket_ros2.errors import NotCovered, NotCoveredImport

from .static_transform_broadcaster import StaticTransformBroadcaster as StaticTransformBroadcaster
from .transform_broadcaster import TransformBroadcaster as TransformBroadcaster

_ABSENT_CLASSES = ("Buffer", "BufferClient", "BufferInterface", "BufferServer", "TransformListener")


def _absent(name: str) -> type:
    def refuse(self: object, *_: Any, **__: Any) -> NoReturn:
        raise NotCovered(f"tf2_ros.{name} (only the broadcasters)")

    return type(name, (), {"__init__": refuse, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name in _ABSENT_CLASSES:
        return _absent(name)
    if name in ("buffer", "transform_listener", "buffer_interface", "buffer_client", "buffer_server"):
        raise NotCoveredImport(f"tf2_ros.{name}", "listening to transforms")
    raise AttributeError(f"module 'tf2_ros' has no attribute {name!r}")
