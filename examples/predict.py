"""Predict the path of a damaged robot half a second ahead, and compare with what the simulated robot then does.

python examples/predict.py
"""

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Predictor, Simulator, TripodGait

robot = Robot.jethexa()
morphology = Morphology.whole(robot).without("RM")
gait = TripodGait().bind(robot, morphology)
gait.reset(walking=True)
simulator = Simulator(robot, morphology=morphology)  # the robot: it follows the commands it is given
simulator.reset(joints=gait.position.copy())
predictor = Predictor(robot, morphology, horizon_steps=25, horizon_period=0.02)
for _second in range(3):
    for _command in range(50):
        simulator.command(gait.step(0.02)[0], 0.02)
        simulator.step(20)
    ahead = gait.copy()
    targets = np.array([ahead.step(0.02)[0].copy() for _ in range(25)])
    predictor.set_state(simulator.position, simulator.rotation, simulator.q, simulator.nu, simulator.setpoints)
    positions, _rotations, _joints = predictor.roll_out(targets)
    for target in targets:
        simulator.command(target, 0.02)
        simulator.step(20)
        gait.step(0.02)
    (x, y, _z), (true_x, true_y, _true_z) = 1e3 * positions[-1], 1e3 * simulator.position
    print(f"{simulator.time:.1f} s: predicted x {x:.2f} mm, y {y:.2f} mm; true x {true_x:.2f} mm, y {true_y:.2f} mm")
