"""Gaits: body velocity in, joint set-points out."""

from hexapod_dynamics.gait.adaptive import AdaptiveGait
from hexapod_dynamics.gait.get_up import GetUp
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.tripod import GaitLimits, TripodGait

__all__ = ["AdaptiveGait", "Gait", "GaitLimits", "GetUp", "TripodGait"]
