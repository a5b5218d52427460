"""The simulated robot, the predictor made of it, and many simulations at once."""

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.log import Log
from hexapod_dynamics.simulation.many import simulate_many
from hexapod_dynamics.simulation.predictor import Predictor
from hexapod_dynamics.simulation.simulator import Simulator

__all__ = ["Ground", "Log", "Predictor", "Simulator", "TripodGait", "simulate_many"]
