"""The simulated robot, the predictor based on it, and batches of simulations."""

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
