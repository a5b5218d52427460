"""The simulation as a predictor: state in, steps under commanded servos, a horizon ahead; nothing is allocated."""

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.simulation import loops, servo
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.step import kernels_of, make_state, make_world


class Predictor:
    """Steps the robot's model under commanded servos and looks a horizon ahead, with arrays made once.

    timestep [s] of `advance`; horizon_steps: periods that `roll_out` looks ahead, each `horizon_period` [s] long and
    stepped in pieces of about horizon_timestep [s].

    position (3,), rotation (3, 3), q (n,), nu (6 + n,), setpoints (n,) are the state itself: read them, write into
    them. path_positions (K, 3), path_rotations (K, 3, 3), path_joints (K, n) hold the last roll-out.
    """

    def __init__(
        self,
        robot,
        morphology=None,
        timestep=2e-3,
        *,
        horizon_steps=25,
        horizon_period=0.02,
        horizon_timestep=5e-3,
        ground=None,
    ):
        for name, value in (
            ("timestep", timestep),
            ("horizon_period", horizon_period),
            ("horizon_timestep", horizon_timestep),
        ):
            if not (np.isfinite(value) and value > 0.0):
                raise HexapodError(f"{name}: given {value!r}, allowed are finite numbers > 0 [s]")
        joints = robot.joint_count
        ground = Ground() if ground is None else ground
        self.robot = robot
        self.morphology = Morphology.whole(robot) if morphology is None else morphology
        self.timestep = float(timestep)
        self.horizon_period = float(horizon_period)
        self._pieces = max(1, round(horizon_period / horizon_timestep))
        self._kernels = kernels_of(robot)
        self._workspace = self._kernels.workspace(self.morphology)
        self._state, self._world = make_state(joints), make_world(robot, ground)
        self._ahead_state, self._ahead_world = make_state(joints), make_world(robot, ground)
        self.path_positions = np.zeros((horizon_steps, 3))
        self.path_rotations = np.zeros((horizon_steps, 3, 3))
        self.path_joints = np.zeros((horizon_steps, joints))
        self.position, self.rotation, self.q, self.nu = self._state
        self.setpoints = self._world.servos[:, servo.SETPOINT]
        self.joint_torques = self._world.servos[:, servo.TORQUE]
        self.foot_forces = self._world.foot_forces
        self.acceleration = self._world.acceleration

    def set_state(self, position, rotation, q, nu, setpoints=None):
        """Set position (3,) [m], rotation (3, 3), q (n,) [rad], nu (6 + n,); servos at setpoints (n,), by default at
        q.
        """
        self.position[:], self.rotation[:], self.q[:], self.nu[:] = position, rotation, q, nu
        self._settle_damage()
        loops.settle_setpoints(self._world, self.q if setpoints is None else np.asarray(setpoints, float))

    def resting_height(self):
        """Return the height [m] of the body at which its lowest point, as it stands over the origin, touches the
        ground.
        """
        return loops.resting_height(self._workspace, self._world, self._state)

    def set_morphology(self, morphology):
        """Change what is left of the robot; in effect with the next step."""
        self._kernels.set_morphology(self._workspace, morphology)
        self.morphology = morphology
        self._settle_damage()

    def advance(self, duration, targets=None, command_duration=None):
        """Step on by the duration [s], in equal steps no longer than `timestep`.

        targets (n,) [rad]: commanded now, to be reached after command_duration [s] (by default, `duration`); without
        them the servos go on as they were told.
        """
        steps = max(1, int(np.ceil(duration / self.timestep - 1e-6)))
        if targets is not None:
            reach = duration if command_duration is None else command_duration
            loops.command_all(self._world, targets, reach, 0.0)
        loops.take_steps(self._workspace, self._world, self._state, duration / steps, steps)

    def roll_out(self, targets):
        """Look ahead under the targets (K, n) [rad], K at most `horizon_steps`, one a horizon period; the state stays.

        Returns views of path_positions (K, 3), path_rotations (K, 3, 3) and path_joints (K, n).
        """
        count = targets.shape[0]
        positions, rotations = self.path_positions[:count], self.path_rotations[:count]
        joints = self.path_joints[:count]
        loops.roll_out(
            self._workspace,
            self._ahead_world,
            self._ahead_state,
            self._state,
            self._world.servos,
            targets,
            self.horizon_period,
            self.horizon_period / self._pieces,
            self._pieces,
            positions,
            rotations,
            joints,
        )
        return positions, rotations, joints

    def _settle_damage(self):
        stuck = self._workspace.moving == 0.0
        locked = self.morphology.existing_mask & stuck
        self.q[locked] = self._workspace.locked[locked]
        self.nu[6:][stuck] = 0.0
