"""The robot's program without ROS: pure classes for what each node does, and `Onboard`, which wires all of them.

The nodes import only their own module of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics import load_on_first_use

if TYPE_CHECKING:
    from hexapod_dynamics.onboard.onboard import MadeDecision, Onboard, PredictedState

__all__ = ["MadeDecision", "Onboard", "PredictedState"]

__getattr__ = load_on_first_use(__name__, dict.fromkeys(__all__, f"{__name__}.onboard"))
