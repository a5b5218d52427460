"""The simulated robot, the predictor based on it, and batches of simulations.

Names are imported when they are used: the predictor, which runs on the robot, needs neither gaits nor MuJoCo.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hexapod_dynamics.gait import TripodGait
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
    "TripodGait": "gait",
    "Truth": "simulation.truth",
    "simulate_many": "simulation.batch_simulator",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"hexapod_dynamics.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
