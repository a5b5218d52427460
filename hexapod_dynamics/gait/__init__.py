"""Gaits: body velocity in, joint set-points out.

Importing this package imports nothing else: the classes are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait
    from hexapod_dynamics.gait.interface import Gait
    from hexapod_dynamics.gait.recovery.get_up import GetUp
    from hexapod_dynamics.gait.tripod import GaitLimits, TripodGait

__all__ = ["AdaptiveGait", "Gait", "GaitLimits", "GetUp", "TripodGait"]
_MODULES = {
    "AdaptiveGait": "adaptive",
    "Gait": "interface",
    "GaitLimits": "tripod",
    "GetUp": "recovery.get_up",
    "TripodGait": "tripod",
}


def __getattr__(name: str) -> object:
    """Import a class on first use: who steps a model needs no gait."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
