"""The simulated robot, the predictor based on it, and batches of simulations.

Names are imported when they are used: the predictor, which runs on the robot, needs neither gaits nor MuJoCo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hexapod_dynamics import load_on_first_use

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

__getattr__ = load_on_first_use(
    __name__,
    {
        "Ground": f"{__name__}.ground",
        "Log": f"{__name__}.trajectory",
        "MujocoSimulator": f"{__name__}.mujoco_simulator",
        "Predictor": f"{__name__}.predictor",
        "Readings": f"{__name__}.readings",
        "Simulator": f"{__name__}.simulator",
        "TripodGait": "hexapod_dynamics.gait",
        "Truth": f"{__name__}.truth",
        "simulate_many": f"{__name__}.batch_simulator",
    },
)
