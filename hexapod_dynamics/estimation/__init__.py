"""State estimation: the observer that the dynamics node runs, and its filters.

`DamageDetector` and `DetectorSettings` of `hexapod_dynamics.detection` can be imported from here, too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexapod_dynamics.detection import DamageDetector, DetectorSettings

__all__ = ["DamageDetector", "DetectorSettings"]


def __getattr__(name: str) -> object:
    """Import the damage detector on first use, because the observer does not need it."""
    if name in __all__:
        return getattr(importlib.import_module("hexapod_dynamics.detection"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
