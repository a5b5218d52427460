"""Joints that come back begin where they are measured, and approach their commands as slowly as their servos do."""

import numpy as np

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.estimation.observer import Observer, ObserverSettings
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LEG = list(ROBOT.leg_joints("RM"))
SLOW = GuardSettings().approach_speed
AWAY = np.array([0.4, 0.7, 0.5])  # [rad] from the command, where the leg is when it comes back: up


class Standing:
    """An observer of a robot that stands; the readings are the commands, those of RM are `self.leg` (3,) [rad]."""

    def __init__(self):
        self.observer, self.time = Observer(ROBOT, ObserverSettings(timestep=2e-3)), 0.0
        self.pose = AdaptiveGait().bind(ROBOT).position.copy()
        self.leg, self.read = self.pose[LEG].copy(), True

    def run(self, seconds, approach=0.0):
        """Return the levels of doubt; approach [rad/s]: speed of RM's joints towards their commands."""
        levels = set()
        for _ in range(round(100 * seconds)):
            tick = round(100 * self.time)
            way = self.pose[LEG] - self.leg
            self.leg += np.clip(way, -0.01 * approach, 0.01 * approach)
            if tick % 2 == 0:
                self.observer.command(self.time, self.pose, np.zeros(18))
            angles = np.full(18, np.nan)
            joint = tick % 18
            if joint not in LEG:
                angles[joint] = self.pose[joint]
            elif self.read:
                angles[joint] = self.leg[joint - LEG[0]]
            self.observer.measure_joints(self.time, angles)
            self.observer.measure_attitude(self.time, np.eye(3))
            if self.observer.advance(self.time):
                levels.add(self.observer.confidence[0])
            self.time += 0.01
        return levels


def test_a_leg_that_comes_back_elsewhere_is_no_contradiction():
    robot = Standing()
    robot.run(1.0)
    robot.observer.set_morphology(WHOLE.without("RM"))
    robot.leg, robot.read = robot.pose[LEG] + AWAY, False
    assert robot.run(1.0) == {"ok"}
    robot.observer.set_morphology(WHOLE)
    assert robot.run(0.3) == {"ok"}  # its servos are being found
    robot.read = True
    assert robot.run(0.2, SLOW) == {"ok"}
    assert np.allclose(robot.observer.q[LEG], robot.leg, atol=0.15)  # where it is, not where it was
    assert robot.run(2.0, SLOW) == {"ok"}
    assert np.allclose(robot.observer.q[LEG], robot.pose[LEG], atol=0.06)


def test_a_leg_that_comes_back_and_does_not_move_is_one():
    robot = Standing()
    robot.run(1.0)
    robot.observer.set_morphology(WHOLE.without("RM"))
    robot.leg = robot.pose[LEG] + AWAY
    robot.run(0.5)
    robot.observer.set_morphology(WHOLE)
    assert "warn" in robot.run(1.5)
