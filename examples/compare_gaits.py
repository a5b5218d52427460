"""Compare two gaits on the same damaged robot: speed, tilt, energy for a metre and a newton (cost of transport).

python examples/compare_gaits.py
"""

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator

SECONDS = 6.0
robot = Robot.jethexa()
hurt = Morphology.whole(robot).without("RM")
weight = robot.gravity * (robot.body.mass + sum(link.mass for leg in robot.legs for link in leg.links))
for name, pattern in (("planned for five legs", "auto"), ("wave of five legs", "wave")):
    gait = AdaptiveGait(pattern=pattern).bind(robot, hurt)
    asked = gait.command(0.05, 0.0, 0.0)[0]
    simulator = Simulator(robot, hurt, gait=gait, ground=Ground(friction=0.6))
    simulator.run(2.0)
    log = simulator.run(SECONDS, log_every=2)
    way = float(np.linalg.norm(log.position[-1, :2] - log.position[0, :2]))
    power = np.abs(log.joint_torques * log.joint_velocities).sum(axis=1).mean()  # [W]
    tilt = np.degrees(np.abs(log.euler_zyx[:, 1:]).max())
    speeds = f"asked {100 * asked:.1f} cm/s, walks {100 * way / SECONDS:.1f} cm/s"
    cost = power * SECONDS / (weight * way)
    print(f"{name:22s} {speeds}, tilt up to {tilt:.1f} degrees, cost of transport {cost:.2f}")
print("Cost of transport: energy of the joints for a metre and a newton of weight.")
