"""Closed-form kinematics of the three-joint leg."""

from hexapod_dynamics.kinematics.leg_kinematics import LegKinematics, link_lengths

__all__ = ["LegKinematics", "link_lengths"]
