"""Dynamics: the modular whole-body model, and serial and branched chains by the papers' formulations."""

from hexapod_dynamics.dynamics.model.whole_body import WholeBodyModel

__all__ = ["WholeBodyModel"]
