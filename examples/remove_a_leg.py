"""Remove a leg inside a loop: the same model serves every morphology, nothing is built again.

python examples/remove_a_leg.py
"""

import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

robot = Robot.jethexa()
model = WholeBodyModel(robot)
morphology = Morphology.whole(robot)
for leg in robot.leg_names:
    n = len(model.joint_names(morphology))
    acceleration = model.forward_dynamics(np.eye(3), np.zeros(18), np.zeros(6 + n), np.zeros(n), morphology)
    mass = model.mass_matrix(np.zeros(18), morphology)[0, 0]
    print(f"{mass:.2f} kg, {n:2d} moving joints, free fall at {acceleration[2]:+.2f} m/s^2; now remove {leg}")
    morphology = morphology.without(leg)
