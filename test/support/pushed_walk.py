"""A walk in MuJoCo that is pushed from the side, with and without the brace, at the rates of the node `gait`."""

import math

import numpy as np

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.brace import HOLD, Brace
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import MujocoSimulator, Truth

ROBOT = Robot.jethexa()
TICK, STEP, SAMPLES = 0.02, 0.002, 2  # [s] of the gait, of the simulation; samples of the IMU in a tick
NOISE, RATE_NOISE = 0.05, 0.01  # [m/s^2], [rad/s] of a sample
OVER = 0.5  # upward component of the body's z axis below which the robot has turned over
AFTER = 2.5  # [s]


class PushedWalk:
    """Truth `servos=real` of the seed, friction 0.5 to 0.9, masses +-10 %, `truth` added (as ",rough=0.008")."""

    def __init__(self, seed, *, lost=(), braced=True, truth="", speed=0.07):
        random = np.random.default_rng((5, seed))
        friction, mass = random.uniform(0.5, 0.9), random.uniform(0.9, 1.1)
        drawn = Truth.parse(f"servos=real,seed={seed},friction={friction},mass={mass}{truth}")
        morphology = Morphology.whole(ROBOT).without(*lost)
        self.physics = MujocoSimulator(ROBOT, timestep=STEP, truth=drawn)
        self.gait, self.brace = AdaptiveGait().bind(ROBOT), Brace(ROBOT)
        self.gait.set_morphology(morphology)
        self.brace.set_morphology(morphology)
        self.physics.set_morphology(morphology)
        self.gait.command(speed, 0.0, 0.0)
        self.physics.reset(joints=self.gait.position.copy())
        self._guard = PoseGuard.of_robot(ROBOT)
        self._guard.synchronise_setpoint(
            np.zeros(ROBOT.joint_count, np.int64), self.gait.position.copy(), np.ones(ROBOT.joint_count, bool)
        )
        self._offsets, self._noise, self.braced = np.zeros(ROBOT.joint_count), np.random.default_rng(seed), braced
        self.random, self.lowest, self.told, self.morphology = random, 1.0, False, morphology

    def run(self, seconds, force=0.0, direction=0.0, height=0.0):
        """Walk for so many seconds; meanwhile a horizontal force [N] acts `height` [m] above the body's origin."""
        physics = self.physics
        for _ in range(round(seconds / TICK)):
            horizontal = [force * math.cos(direction), force * math.sin(direction), 0.0]
            push = physics.rotation.T @ np.array(horizontal)
            physics.push([*push, *np.cross([0.0, 0.0, height], push)])
            if force and self.told:
                self.brace._left = HOLD
            self.gait.sense(*roll_pitch_yaw(physics.rotation))
            if self.braced and self.brace.needed:
                setpoints = self.brace.step(TICK, self.gait.position)
            else:
                setpoints = self.gait.step(TICK)[0]
            physics.command(self._guard.update(setpoints, self._offsets, TICK), TICK)
            for _ in range(SAMPLES):
                physics.step(round(TICK / SAMPLES / STEP))
                sample = physics._specific_force() + self._noise.normal(0.0, NOISE, 3)
                rate = physics._mean_rate + self._noise.normal(0.0, RATE_NOISE, 3)
                self.brace.sense(TICK / SAMPLES, sample, rate, self.gait.walking)
            self.lowest = min(self.lowest, physics.rotation[2, 2])
        return self

    @property
    def turned_over(self):
        """Whether it has turned over at any time."""
        return self.lowest < OVER


def pushed(seed, impulse, braced, *, lost=(), truth="", lasts=0.3, height=0.06, told=False):
    """Return a walk that is pushed once, at a random time and from a random direction, by an impulse [N s].

    told: the brace does not have to detect the push, it begins with it.
    """
    walk = PushedWalk(seed, lost=lost, braced=braced, truth=truth)
    walk.told = told
    walk.run(4.0 + walk.random.uniform(0.0, 2.0))
    walk.run(lasts, impulse / lasts, walk.random.uniform(-math.pi, math.pi), height)
    return walk.run(AFTER)


def bereft(seed, lost=()):
    """Return a walk that loses one more leg, or the tibia of it, at a random time, and of the whole robot two in two
    of five walks; nobody tells it.
    """
    random = np.random.default_rng((11, seed))
    walk = PushedWalk(seed, lost=lost, speed=random.choice([0.04, 0.07, 0.1]))
    walk.run(4.0 + walk.random.uniform(0.0, 2.0))
    left = [name for name in ROBOT.leg_names if name not in lost]
    gone = random.choice(left, 1 if lost or random.random() < 0.6 else 2, replace=False)
    parts = [str(leg) if random.random() < 0.5 else f"{leg}.tibia" for leg in gone]
    walk.physics.set_morphology(walk.morphology.without(*parts))
    return walk.run(AFTER)
