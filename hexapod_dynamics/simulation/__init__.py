"""The simulated robot, the predictor based on it, and batches of simulations.

Importing this package imports nothing else: the classes are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hexapod_dynamics.gait.tripod import TripodGait
    from hexapod_dynamics.simulation.batch_simulator import simulate_many
    from hexapod_dynamics.simulation.ground import Ground
    from hexapod_dynamics.simulation.mujoco_simulator import MujocoSimulator
    from hexapod_dynamics.simulation.predictor import Predictor
    from hexapod_dynamics.simulation.readings import Readings
    from hexapod_dynamics.simulation.simulator import Simulator
    from hexapod_dynamics.simulation.trajectory import Log
    from hexapod_dynamics.simulation.truth import Truth

__all__ = [
    "Ground",
    "Log",
    "MujocoSimulator",
    "Predictor",
    "Readings",
    "Simulator",
    "TripodGait",
    "Truth",
    "simulate_many",
]
_MODULES = {
    "Ground": "simulation.ground",
    "Log": "simulation.trajectory",
    "MujocoSimulator": "simulation.mujoco_simulator",
    "Predictor": "simulation.predictor",
    "Readings": "simulation.readings",
    "Simulator": "simulation.simulator",
    "TripodGait": "gait.tripod",
    "Truth": "simulation.truth",
    "simulate_many": "simulation.batch_simulator",
}


def __getattr__(name: str) -> Any:
    """Import a class on first use: the predictor of a node needs no simulator."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"hexapod_dynamics.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
