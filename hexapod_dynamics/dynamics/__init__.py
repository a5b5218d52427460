"""Dynamics: the modular whole-body model, and serial and branched chains.

Importing this package imports nothing else: `WholeBodyModel` is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hexapod_dynamics.dynamics.whole_body import WholeBodyModel

__all__ = ["WholeBodyModel"]


def __getattr__(name: str) -> Any:
    """Import the model on first use, because what the nodes run needs the core only."""
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.whole_body"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
