"""Gaits: body velocity in, joint set-points out.

Importing this package imports nothing else: the classes are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics import load_on_first_use

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait
    from hexapod_dynamics.gait.interface import Gait
    from hexapod_dynamics.gait.recovery.get_up import GetUp
    from hexapod_dynamics.gait.tripod import TripodGait

__all__ = ["AdaptiveGait", "Gait", "GetUp", "TripodGait"]
__getattr__ = load_on_first_use(
    __name__,
    {"AdaptiveGait": ".adaptive", "Gait": ".interface", "GetUp": ".recovery.get_up", "TripodGait": ".tripod"},
)
