"""Gaits: body velocity in, joint set-points out."""

from hexapod_dynamics.gait.tripod import GaitLimits, TripodGait

__all__ = ["GaitLimits", "TripodGait"]
