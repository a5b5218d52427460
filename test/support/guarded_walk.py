"""A gait on the built-in physics behind the guard of the servos, as in the nodes."""

import numpy as np
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import Ground, Simulator

TICK = 0.02


def guard_at(joints):
    """Return the guard of servos that stand at joint angles [rad]."""
    guard = PoseGuard.of_robot(ROBOT)
    guard.synchronise_setpoint(np.zeros(18, int), joints.copy(), np.ones(18, bool))
    return guard


class GuardedWalk:
    """A gait that walks; tilt [deg], doing: of each tick."""

    def __init__(self, gait, morphology=WHOLE):
        self.gait, self.guard = gait, guard_at(gait.position)
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
