"""Walk in simulation, lose a leg and a part of another, walk on: position and heading before and after.

python examples/walk_with_damage.py
"""

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait

robot = Robot.jethexa()
simulator = Simulator(robot, gait=TripodGait(step_length=0.05, period=1.3))
whole = Morphology.whole(robot)
for name, morphology in (
    ("whole", whole),
    ("without RM", whole.without("RM")),
    ("RM lost, LF.tibia broken", whole.without("RM").broken("LF.tibia", remaining=0.9)),
):
    simulator.set_morphology(morphology)
    log = simulator.run(2.6)
    x, y, z = log.position[-1]
    yaw, _pitch, _roll = np.degrees(log.euler_zyx[-1])
    print(f"{name:24s} after {simulator.time:.1f} s at x {x:.3f} m, y {y:+.3f} m, z {z:.3f} m, yaw {yaw:+.1f} degrees")
