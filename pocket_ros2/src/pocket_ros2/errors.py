"""What pocket ROS 2 raises where it ends."""

import importlib.abc
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from typing import NoReturn

# Modules of Humble and of newer distributions: what they are for.
MODULES = {
    "launch.frontend": "launch files in XML and YAML",
    "launch_ros.event_handlers": "lifecycle nodes",
    "launch_ros.events": "lifecycle nodes",
    "rclpy.action": "actions",
    "rclpy.event_handler": "rclpy.event_handler (newer than ROS 2 Humble; it is rclpy.qos_event)",
    "rclpy.impl.implementation_singleton": "the C part of rclpy",
    "rclpy.lifecycle": "lifecycle nodes",
    "rclpy.parameter_client": "parameter clients (newer than ROS 2 Humble)",
    "rclpy.parameter_event_handler": "parameter event handlers (newer than ROS 2 Humble)",
    "rclpy.qos_overriding_options": "QoS profiles overridden by parameters",
    "rclpy.service_introspection": "service introspection (newer than ROS 2 Humble)",
    "rclpy.type_hash": "type hashes (newer than ROS 2 Humble)",
    "rclpy.waitable": "waitables of one's own",
    "tf2_msgs.action": "actions",
    "tf2_ros.buffer": "listening to transforms, only broadcasting them",
    "tf2_ros.transform_listener": "listening to transforms, only broadcasting them",
}


class NotCovered(NotImplementedError):
    """A part of ROS 2 that pocket ROS 2 does not have; the text names it and says where it is to be had."""

    def __init__(self, what: str) -> None:
        super().__init__(f"pocket ROS 2 does not cover {what}; source a real ROS 2 to use it")


class NotCoveredImport(ImportError):
    """A module of ROS 2, or a name in one, that pocket ROS 2 does not have."""

    def __init__(self, module: str, what: str) -> None:
        super().__init__(f"pocket ROS 2 does not cover {what} ({module}); source a real ROS 2 to use it", name=module)


class _Refusal(importlib.abc.MetaPathFinder):
    """Finds none of the modules above."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname in MODULES:
            raise NotCoveredImport(fullname, MODULES[fullname])
        return None


sys.meta_path.append(_Refusal())


def not_covered(module: str, known: Iterable[str]) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`: NotCoveredImport for a class that it does not have, with those that it has."""

    def __getattr__(name: str) -> NoReturn:
        if name[:1].isupper():
            raise NotCoveredImport(module, f"{module}.{name}, only {', '.join(known)}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return __getattr__
