"""The JetHexa of the tests: whole, its mass, and the joints of its stance."""

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
MASS = ROBOT.body.mass + sum(link.mass for leg in ROBOT.legs for link in leg.links)  # [kg]
STAND = TripodGait().bind(ROBOT).position.copy()  # [rad]


def standing(simulator, steps=0):
    """Return a simulator of this robot after so many steps in its stance."""
    simulator.reset(joints=STAND)
    simulator.step(steps)
    return simulator
