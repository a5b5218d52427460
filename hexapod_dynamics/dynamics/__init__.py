"""Dynamics: the modular whole-body model.

Importing this package imports nothing else: `WholeBodyModel` is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics import load_on_first_use

if TYPE_CHECKING:
    from hexapod_dynamics.dynamics.whole_body import WholeBodyModel

__all__ = ["WholeBodyModel"]

__getattr__ = load_on_first_use(__name__, {"WholeBodyModel": f"{__name__}.whole_body"})
