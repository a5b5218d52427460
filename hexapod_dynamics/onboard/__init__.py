"""The robot's program without ROS: pure classes for what each node does, and `Onboard`, which wires all of them.

The nodes import only their own module of this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hexapod_dynamics.onboard.onboard import MadeDecision, Onboard, Predicted

__all__ = ["MadeDecision", "Onboard", "Predicted"]


def __getattr__(name: str) -> Any:
    """Import the classes of `onboard` when they are asked for: a node does not need the others' code."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("hexapod_dynamics.onboard.onboard"), name)
