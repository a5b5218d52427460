"""The headline in 25 lines: a robot walks, loses both middle legs, and walks on; with a picture, and a film on request.

python examples/walk_on.py [--show]        draws walk_on.png in the folder for temporary files; --show: in the browser
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator
from hexapod_dynamics.view import plot_walk, show

robot = Robot.jethexa()
gait = AdaptiveGait().bind(robot)
gait.command(0.077, 0.0, 0.0)  # forward, left [m/s], turn [rad/s]
simulator = Simulator(robot, gait=gait, ground=Ground(friction=0.6))
whole = simulator.run(5.0, log_every=10)
simulator.set_morphology(Morphology.whole(robot).without("RM", "LM"))
hurt = simulator.run(9.5, log_every=10)

picture = Path(tempfile.gettempdir(), "walk_on.png")
log = plot_walk(picture, robot, {"whole": whole, "without RM and LM": hurt})
for name, part in (("whole", whole), ("without RM and LM", hurt)):
    late = part.time > part.time[-1] - 3.15  # two cycles of the walk on four legs
    speed = np.linalg.norm(np.ptp(part.position[late, :2], axis=0)) / 3.15
    tilt = np.degrees(np.abs(part.euler_zyx[late, 1:]).max())
    print(f"{name:18s} {100 * speed:.1f} cm/s, tilt up to {tilt:.1f} degrees")
print(f"{log.time[-1]:.1f} s of walk: {picture}")
if "--show" in sys.argv:
    show(log)
