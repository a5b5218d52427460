"""Closed-form kinematics of the three-joint leg."""

from hexapod_dynamics.kinematics.leg_kinematics import LegKinematics, knee_cosines, link_lengths

__all__ = ["LegKinematics", "knee_cosines", "link_lengths"]
