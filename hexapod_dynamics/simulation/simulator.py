"""The simulated robot: whole-body model, contacts and servos, driven by a gait or by outside commands."""

import numpy as np

from hexapod_dynamics.dynamics.kernels import EXTERNAL
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.simulation import loops, servo
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.log import row_width, split
from hexapod_dynamics.simulation.step import kernels_of, make_state, make_world

# Steps longer than this [s] are stable but no picture of a walk.
LONGEST_STEP = 0.02


class Simulator:
    """A Robot on the ground, in time steps of `timestep` [s].

    morphology: what is left of the robot, the whole of it by default. gait: a TripodGait, of which a copy, `gait`,
    walks the robot: from the steady nominal walk, or from where it is if it has been commanded before. Steer it with
    `simulator.gait.command`. Without a gait, the servos follow `command`. Another object with robot, bind(robot),
    set_morphology(morphology), position and step(dt) -> (position, velocity) walks it too, from Python.
    ground: a Ground, level by default. command_period [s]: how often the gait commands the servos, each step by
    default. quantised: whether commands are rounded to the servos' resolution.

    The world frame starts under the robot, x forward and z up, its ground at z = 0 where it is level. All joints of the
    robot keep their places in every array, whatever is missing.
    """

    def __init__(
        self, robot, morphology=None, gait=None, timestep=1e-3, *, ground=None, command_period=None, quantised=False
    ):
        if not (np.isfinite(timestep) and 0.0 < timestep <= LONGEST_STEP):
            raise HexapodError(f"timestep: given {timestep!r} s, allowed are numbers above 0 to {LONGEST_STEP} s")
        period = timestep if command_period is None else command_period
        self._command_steps = max(1, round(period / timestep))
        if abs(self._command_steps * timestep - period) > 1e-9 * period:
            raise HexapodError(f"command_period: given {command_period} s, needed: a multiple of timestep {timestep}")
        self.robot = robot
        self.timestep = float(timestep)
        self.ground = Ground() if ground is None else ground
        self.morphology = Morphology.whole(robot) if morphology is None else morphology
        self.gait = None if gait is None else self._started(gait)
        self._resolution = robot.servo.resolution if quantised else 0.0
        self._kernels = kernels_of(robot)
        self._workspace = self._kernels.workspace(self.morphology)
        self._state = make_state(robot.joint_count)
        self._world = make_world(robot, self.ground)
        self._no_log = np.empty((0, row_width(robot.joint_count, len(robot.legs))))
        self.reset()

    def _started(self, gait):
        """Return a copy of the gait for this robot, in its nominal walk unless it is already under way.

        A gait of another kind is not copied.
        """
        if not isinstance(gait, TripodGait):
            if gait.robot is None or gait.robot != self.robot:
                gait.bind(self.robot)
            gait.set_morphology(self.morphology)
            if not getattr(gait, "commanded", True):
                gait.reset(walking=True)
            return gait
        gait = gait.copy()
        if gait.robot is None or gait.robot != self.robot:
            gait.bind(self.robot)
        if not gait.commanded:
            gait.reset(walking=True)
        gait.set_morphology(self.morphology)
        gait.step(0.0)
        return gait

    def reset(self, *, position=None, rotation=None, joints=None):
        """Put the robot at rest: servos at the joints (n,) [rad], body at position (3,) [m] and rotation (3, 3).

        By default the joints are where the gait has them (zero without a gait), the body is upright over the origin,
        and so high that the lowest point just touches the ground. Time starts over.
        """
        state = self._state
        if joints is None:
            joints = np.zeros(self.robot.joint_count) if self.gait is None else self.gait.position
        state.q[:] = _checked("joints", joints, state.q.shape)
        state.rotation[:] = np.eye(3) if rotation is None else _checked("rotation", rotation, (3, 3))
        if not np.allclose(state.rotation @ state.rotation.T, np.eye(3), atol=1e-9):
            raise HexapodError(f"rotation: {state.rotation.tolist()} is no rotation matrix")
        state.nu[:] = 0.0
        self._settle_damage()
        loops.settle_setpoints(self._world, state.q)
        if position is not None:
            state.position[:] = _checked("position", position, (3,))
        else:
            state.position[:] = 0.0
            state.position[2] = loops.resting_height(self._workspace, self._world, state)
        self._steps = 0
        self._since_command = 0
        self._world.acceleration[:] = 0.0
        self._mean_acceleration = np.zeros_like(state.nu)
        self._world.foot_forces[:] = 0.0
        self._world.ground_force[:] = 0.0

    def set_morphology(self, morphology):
        """Change what is left of the robot, at once and between steps: parts go as they are, parts come back at rest.

        A gait that drives the robot learns of it.
        """
        self._kernels.set_morphology(self._workspace, morphology)
        self.morphology = morphology
        self._settle_damage()
        if self.gait is not None:
            self.gait.set_morphology(morphology)

    def run(self, seconds, *, log_every=1):
        """Simulate for so many seconds and return the Log, a row every `log_every` steps."""
        if not (np.isfinite(seconds) and seconds >= 0.0):
            raise HexapodError(f"seconds: given {seconds!r}, allowed are finite numbers from 0")
        if log_every < 1:
            raise HexapodError(f"log_every: given {log_every!r}, allowed are whole numbers from 1")
        steps = round(seconds / self.timestep)
        rows = steps // log_every
        joints, legs = self.robot.joint_count, len(self.robot.legs)
        log = np.empty((rows, row_width(joints, legs)))
        first = self._steps
        self._advance(steps, log, log_every)
        time = (first + log_every * np.arange(1, rows + 1)) * self.timestep
        return split(time, log, joints, legs)

    def step(self, steps=1):
        """Take so many steps without a log; afterwards the readings below are up to date."""
        self._advance(steps, self._no_log, steps + 1)

    def command(self, targets, duration):
        """Send the servos to targets (n,) [rad], uniformly over the duration [s], as far as their speed limit lets
        them.

        NaN leaves a servo's command as it is.
        """
        targets = np.asarray(targets, float)
        if targets.shape != self._state.q.shape or not duration > 0.0:
            raise HexapodError(f"command: {self._state.q.size} targets and a duration above 0 s are needed")
        for joint in np.flatnonzero(~np.isnan(targets)):
            self.command_joint(joint, targets[joint], duration)

    def command_joint(self, joint, target, duration):
        """Send the servo of one joint, by its index, to the target [rad] in the duration [s]; 0 s means full speed."""
        if not np.isfinite(target) or not duration >= 0.0:
            raise HexapodError(f"command_joint: target {target} rad in {duration} s: finite numbers needed")
        if self._resolution:
            target = round(target / self._resolution) * self._resolution
        servo.command(self._world.servos, self._world.servo, joint, float(target), float(duration))

    def load_joint(self, joint, loaded):
        """Give the servo of one joint torque, from where the joint is, or make it limp."""
        row = self._world.servos[joint]
        if loaded and row[servo.LOADED] == 0.0:
            row[[servo.SETPOINT, servo.TARGET]] = self._state.q[joint]
            row[servo.SPEED] = 0.0
        row[servo.LOADED] = 1.0 if loaded else 0.0

    def drive(self, setpoints, targets, left, loaded):
        """Take over where servos that somebody else keeps stand: set-points, targets (n,) [rad], time left (n,) [s].

        loaded (n,) bool: which exert torque.
        """
        servos = self._world.servos
        servos[:, servo.SETPOINT], servos[:, servo.TARGET], servos[:, servo.LOADED] = setpoints, targets, loaded
        # What is left takes at least one step.
        servos[:, servo.SPEED] = np.abs(targets - setpoints) / np.maximum(left, self.timestep)

    def push(self, wrench):
        """Let an outside wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self._workspace.shared[EXTERNAL : EXTERNAL + 6] = _checked("wrench", wrench, (6,))

    @property
    def time(self):
        """Simulated time since the last reset [s]."""
        return self._steps * self.timestep

    @property
    def position(self):
        """Position (3,) of base_link in the world [m]."""
        return self._state.position

    @property
    def rotation(self):
        """Rotation (3, 3) world <- base_link."""
        return self._state.rotation

    @property
    def q(self):
        """Joint positions (n,) [rad], of all joints."""
        return self._state.q

    @property
    def nu(self):
        """Body twist, linear first, and joint rates (6 + n,) [m/s, rad/s]."""
        return self._state.nu

    @property
    def setpoints(self):
        """Where the servos' set-points are now (n,) [rad]."""
        return self._world.servos[:, servo.SETPOINT]

    @property
    def joint_torques(self):
        """Torques of the servos in the last step (n,) [N m]."""
        return self._world.servos[:, servo.TORQUE]

    @property
    def foot_forces(self):
        """Contact force (legs, 3) at the end of each leg's last link [N, world axes]."""
        return self._world.foot_forces

    @property
    def ground_force(self):
        """Force (3,) of all contacts together [N, world axes]."""
        return self._world.ground_force

    @property
    def angular_velocity(self):
        """What a gyroscope measures (3,) [rad/s], in base_link axes."""
        return self._state.nu[3:6]

    @property
    def specific_force(self):
        """What an accelerometer at the robot's IMU measures (3,) [m/s^2], in base_link axes.

        The mean over the last call of `step` or `run`: contacts make the acceleration of a single step noisy.
        """
        nu, acceleration = self._state.nu, self._mean_acceleration
        w, r = nu[3:6], self.robot.imu.position
        linear = acceleration[:3] + np.cross(w, nu[:3]) + np.cross(acceleration[3:6], r) + np.cross(w, np.cross(w, r))
        return linear + self.robot.gravity * self._state.rotation[2]

    def _advance(self, steps, log, log_every):
        before = self._state.nu.copy()
        if self.gait is None:
            loops.follow(self._workspace, self._world, self._state, self.timestep, steps, log, log_every)
        elif isinstance(self.gait, TripodGait):
            self._since_command = loops.walk(
                self._workspace,
                self._world,
                self._state,
                self.gait.data,
                self.timestep,
                steps,
                self._since_command,
                self._command_steps,
                self._resolution,
                log,
                log_every,
            )
        else:
            self._walk_from_python(steps, log, log_every)
        self._steps += steps
        if steps > 0:
            np.subtract(self._state.nu, before, out=self._mean_acceleration)
            self._mean_acceleration /= steps * self.timestep
        if not np.isfinite(self._state.position).all():
            raise HexapodError(
                f"simulation diverged at {self.time:.3f} s with timestep {self.timestep} s; take a shorter one"
            )

    def _walk_from_python(self, steps, log, log_every):
        """Do what `loops.walk` does, with a gait that is not compiled."""
        parts = self._workspace, self._world, self._state, self.timestep
        done = 0
        while done < steps:
            if self._since_command == 0:
                duration = self._command_steps * self.timestep
                loops.command_all(self._world, self.gait.step(duration)[0], duration, self._resolution)
            count = min(steps - done, self._command_steps - self._since_command)
            to_log = log_every - done % log_every
            if to_log <= count:
                count = to_log
                row = (done + count) // log_every - 1
                loops.follow(*parts, count - 1, self._no_log, count)
                loops.follow(*parts, 1, log[row : row + 1], 1)
            else:
                loops.follow(*parts, count, self._no_log, count + 1)
            done += count
            self._since_command = (self._since_command + count) % self._command_steps

    def _settle_damage(self):
        """Put locked joints where they are locked; nothing that is stuck or missing moves."""
        stuck = self._workspace.moving == 0.0
        locked = self.morphology.existing_mask & stuck
        self._state.q[locked] = self._workspace.locked[locked]
        self._state.nu[6:][stuck] = 0.0


def _checked(name, value, shape):
    value = np.asarray(value, float)
    if value.shape != shape or not np.isfinite(value).all():
        raise HexapodError(f"{name}: finite numbers of shape {shape} are needed, given {value.tolist()}")
    return value
