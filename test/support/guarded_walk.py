"""Gaits on a robot without its program: on the built-in physics behind the guard of the servos, and on MuJoCo."""

import math

import numpy as np
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.gait import Gait
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Simulator

TICK = 0.02


class GuardedWalk:
    """A gait that walks; tilt [deg], doing: of each tick."""

    def __init__(self, gait, morphology=WHOLE):
        self.gait, self.guard = gait, PoseGuard.from_robot(ROBOT)
        self.guard.synchronise_setpoint(np.zeros(18, int), gait.position.copy(), np.ones(18, bool))
        self.physics = Simulator(ROBOT, morphology, timestep=2e-3, ground=Ground(friction=0.6))
        self.physics.reset(joints=gait.position.copy())
        self.tilt, self.doing = [], []

    def run(self, seconds):
        physics, gait = self.physics, self.gait
        for _ in range(round(seconds / TICK)):
            command = gait.step(TICK)[0].copy()
            command[~(gait.morphology or WHOLE).moving_mask] = np.nan
            sent = self.guard.update(command, np.zeros(18), TICK)
            sent[~physics.morphology.existing_mask] = np.nan
            physics.command(sent, TICK)
            physics.step(10)
            gait.sense(*roll_pitch_yaw(physics.rotation))
            if gait.awaits_joints:
                gait.measure_joints(physics.q)
            self.tilt.append(np.degrees(np.arccos(min(1.0, physics.rotation[2, 2]))))
            self.doing.append(gait.doing)


class MujocoWalk:
    """A gait, bound, on a JetHexa of MuJoCo, which gets the attitude; damage: of the robot, unknown to the gait."""

    def __init__(self, gait, truth=None, damage=WHOLE):
        self.gait, self.physics = gait, MujocoSimulator(ROBOT, damage, timestep=1e-3, truth=truth)
        self.physics.reset(joints=gait.position.copy())

    def run(self, seconds, each=lambda: None, *, sense=True):
        """Walk on; each: called after each tick; sense: whether the gait gets the attitude."""
        for _ in range(round(seconds / TICK)):
            position = self.gait.step(TICK)[0].copy()
            position[~self.physics.morphology.existing_mask] = np.nan
            self.physics.command(position, TICK)
            self.physics.step(20)
            if sense:
                self.gait.sense(*roll_pitch_yaw(self.physics.rotation))
            each()

    @property
    def tilt(self):
        """Tilt of the body [rad]."""
        return math.acos(min(1.0, self.physics.rotation[2, 2]))


def steps(gait: Gait, count: int, attitude: tuple[float, float, float] | None = None) -> None:
    """Let so many ticks pass, with a measured attitude (roll, pitch, yaw) [rad] if one is given."""
    for _ in range(count):
        if attitude is not None:
            gait.sense(*attitude)
        gait.step(TICK)


def largest_step(gait: Gait, count: int, joints: list[int] | slice, doing: set[str]) -> float:
    """Return the largest change [rad] of set-points of these joints from tick to tick, in these actions of the gait."""
    largest = 0.0
    for _ in range(count):
        before, does = gait.position.copy(), gait.doing
        gait.step(TICK)
        if does in doing:
            largest = max(largest, float(np.abs(gait.position - before)[joints].max()))
    return largest
