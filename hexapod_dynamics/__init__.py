"""Whole-body dynamics of legged robots that can lose legs.

What a user needs first can be imported from here, and is loaded on its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexapod_dynamics.dynamics import WholeBodyModel
    from hexapod_dynamics.onboard import Onboard
    from hexapod_dynamics.robot import Morphology, Robot

__all__ = ["Morphology", "Onboard", "Robot", "WholeBodyModel"]

_PACKAGES = {"Morphology": "robot", "Onboard": "onboard", "Robot": "robot", "WholeBodyModel": "dynamics"}


def __getattr__(name: str) -> object:
    """Import a name of `__all__` on its first use, because nodes import this package for one of its parts."""
    if name in _PACKAGES:
        return getattr(importlib.import_module(f"{__name__}.{_PACKAGES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
