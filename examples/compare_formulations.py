"""The joint torques of one leg by the methods of four papers: they agree to rounding.

python examples/compare_formulations.py
"""

import numpy as np

from hexapod_dynamics.papers import hollerbach, nth_order
from hexapod_dynamics.papers.chain import sensitivities
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.robot import Robot

leg = Chain.from_leg(Robot.jethexa(), "RF")
q, qdot, qddot = np.array([0.1, -0.4, 0.9]), np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, -2.0])

torques = {name: formulation(leg, q, qdot, qddot) for name, formulation in hollerbach.FORMULATIONS.items()}
torques["Xiang et al."] = sensitivities.inverse_dynamics(leg, q, qdot, qddot)
torques["Mueller & Kumar"] = nth_order.recursive(leg, np.array([q, qdot, qddot]), 0).forces[0]
for name, values in torques.items():
    print(f"{name:28s} {values[0]:+.9f} {values[1]:+.9f} {values[2]:+.9f} N m")

gradient = sensitivities.sensitivities(leg, q, qdot, qddot)
print("d torques / d q [N m/rad]:", gradient[1].round(4).tolist(), sep="\n")
