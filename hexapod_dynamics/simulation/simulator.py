"""The simulated robot: whole-body model, contacts and servos, driven by a gait or by outside commands."""

import copy
import numbers

import numpy as np

from hexapod_dynamics.dynamics.kernels import BODY, EXTERNAL
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import actuator, loops
from hexapod_dynamics.simulation.damage import change_morphology, settle
from hexapod_dynamics.simulation.step import kernels_of, make_state, make_world
from hexapod_dynamics.simulation.trajectory import row_width, split
from hexapod_dynamics.simulation.truth import Truth

# Steps longer than this [s] are stable but no picture of a walk.
LONGEST_STEP = 0.02


class Simulator:
    """A Robot on the ground, in time steps of `timestep` [s].

    morphology: what is left of the robot, the whole of it by default. gait: a Gait, of which a copy, `gait`, walks the
    robot: from the steady nominal walk, or from where it is if it has been commanded before. Steer it with
    `simulator.gait.command`. Without a gait, the servos follow `command`.
    ground: a Ground, level by default. command_period [s]: how often the gait commands the servos, each step by
    default. quantised: whether commands are rounded to the servos' resolution. truth: a Truth, how the simulated robot
    differs from `robot`; without a ground, it is the Truth's. A Truth's delay is that of outside commands.

    The world frame starts under the robot, x forward and z up, its ground at z = 0 where it is level. All joints of the
    robot keep their places in every array, whatever is missing.
    """

    def __init__(
        self,
        robot,
        morphology=None,
        gait=None,
        timestep=1e-3,
        *,
        ground=None,
        command_period=None,
        quantised=False,
        truth=None,
    ):
        if not (0.0 < _number("timestep", timestep, "s") <= LONGEST_STEP):
            raise HexapodError(f"timestep: given {timestep!r} s, allowed are numbers above 0 to {LONGEST_STEP} s")
        period = timestep if command_period is None else _number("command_period", command_period, "s")
        if not period > 0.0:
            raise HexapodError(f"command_period: given {command_period!r} s, allowed are numbers above 0")
        self._command_steps = max(1, round(period / timestep))
        if abs(self._command_steps * timestep - period) > 1e-9 * period:
            raise HexapodError(f"command_period: given {command_period} s, needed: a multiple of timestep {timestep}")
        self.robot = robot
        self.timestep = float(timestep)
        self.truth = Truth() if truth is None else truth
        self.ground = self.truth.ground() if ground is None else ground
        self.morphology = Morphology.whole(robot) if morphology is None else morphology
        self.gait = None if gait is None else self._started(gait)
        self._resolution = robot.servo.resolution if quantised else 0.0
        self._true_robot = self.truth.robot(robot)
        self._true_morphology = self.truth.morphology(self.morphology, self._true_robot)
        self._kernels = kernels_of(self._true_robot)
        self._workspace = self._kernels.workspace(self._true_morphology)
        add_payload(self._workspace.shared, self.truth.payload, self.truth.payload_position)
        self._state = make_state(robot.joint_count)
        self._world = make_world(self._true_robot, self.ground)
        self._world.servo[actuator.DEAD_BAND] = self.truth.deadband * robot.servo.resolution
        self._delayed = actuator.DelayLine(self.truth.delay)
        self._no_log = np.empty((0, row_width(robot.joint_count, len(robot.legs))))
        self.reset()

    def __getstate__(self):
        """What copies and pickles carry: all but compiled code and the memory that it works on."""
        state = self.__dict__.copy()
        del state["_kernels"]
        state["_workspace"] = self._workspace.shared[EXTERNAL : EXTERNAL + 6].copy()
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._kernels = kernels_of(self.robot)
        self._workspace = self._kernels.workspace(self.morphology)
        self._workspace.shared[EXTERNAL : EXTERNAL + 6] = state["_workspace"]

    def __copy__(self):
        return copy.deepcopy(self)  # a copy that shared the state would not be one

    def _started(self, gait):
        """Return a copy of the gait for this robot, in its nominal walk unless it is already under way."""
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
        joints = _checked("joints", joints, state.q.shape)
        rotation = np.eye(3) if rotation is None else _checked("rotation", rotation, (3, 3))
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9) or np.linalg.det(rotation) < 0:
            raise HexapodError(f"rotation: {rotation.tolist()} is no rotation matrix")
        position = None if position is None else _checked("position", position, (3,))
        state.q[:], state.rotation[:] = joints, rotation
        state.nu[:] = 0.0
        settle(self._workspace, self._true_morphology, state.q, state.nu)
        actuator.set_driven(self._world.servos, self.morphology, state.q)
        loops.settle_setpoints(self._world, state.q)
        if position is not None:
            state.position[:] = position
        else:
            state.position[:] = 0.0
            state.position[2] = loops.resting_height(self._workspace, self._world, state)
        self._delayed.clear()
        self._steps = 0
        self._since_command = 0
        self._world.acceleration[:] = 0.0
        self._mean_acceleration = np.zeros_like(state.nu)
        self._world.foot_forces[:] = 0.0
        self._world.ground_force[:] = 0.0

    def set_morphology(self, morphology):
        """Change the morphology at once, between two steps.

        Parts go with the momentum that they have, parts come back at rest, and a joint that locks while it moves keeps
        the robot's momentum (damage.py). A gait that drives the robot learns of it.
        """
        old, new = self._true_morphology, self.truth.morphology(morphology, self._true_robot)
        change_morphology(self._kernels, self._workspace, old, new, self._state.q, self._state.nu)
        self.morphology, self._true_morphology = morphology, new
        actuator.set_driven(self._world.servos, morphology, self._state.q)
        if self.gait is not None:
            self.gait.set_morphology(morphology)

    def run(self, seconds, *, log_every=1):
        """Simulate for so many seconds and return the Log, a row every `log_every` steps."""
        if not _number("seconds", seconds, "s") >= 0.0:
            raise HexapodError(f"seconds: given {seconds!r}, allowed are finite numbers from 0")
        log_every = _count("log_every", log_every, 1)
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
        steps = _count("steps", steps, 0)
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
        self._carry_out(actuator.command, joint, float(target), float(duration))

    def load_joint(self, joint, loaded):
        """Give the servo of one joint torque, from where the joint is, or make it limp."""
        row = self._world.servos[joint]
        if loaded and row[actuator.LOADED] == 0.0:
            row[[actuator.SETPOINT, actuator.TARGET]] = self._state.q[joint]
            row[actuator.SPEED] = 0.0
        row[actuator.LOADED] = 1.0 if loaded else 0.0

    def drive(self, setpoints, targets, left, loaded):
        """Set the servos to the state of external servos: set-points, targets (n,) [rad], remaining time (n,) [s].

        loaded (n,) bool: which exert torque.
        """
        # What is left takes at least one step.
        speeds = np.abs(targets - setpoints) / np.maximum(left, self.timestep)
        self._carry_out(actuator.take_over, setpoints, targets, speeds, loaded)

    def _carry_out(self, function, *arguments):
        if self.truth.delay:
            self._delayed.put(self.time, function, *arguments)
        else:
            function(self._world.servos, self._world.servo, *arguments)

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
        return self._world.servos[:, actuator.SETPOINT]

    @property
    def joint_torques(self):
        """Torques of the servos in the last step (n,) [N m]."""
        return self._world.servos[:, actuator.TORQUE]

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
            self._follow(steps, log, log_every)
        elif self.gait.compiled is not None:
            self._since_command = loops.walk(
                self._workspace,
                self._world,
                self._state,
                self.gait.compiled,
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

    def _follow(self, steps, log, log_every):
        """Step while delayed commands are carried out as they fall due."""
        parts = self._workspace, self._world, self._state, self.timestep
        if not self.truth.delay:
            loops.follow(*parts, steps, log, log_every)
            return
        for k in range(steps):
            self._delayed.execute(self.time + k * self.timestep, self._world.servos, self._world.servo)
            row = (k + 1) // log_every - 1
            logged = (k + 1) % log_every == 0 and len(log) > 0
            loops.follow(*parts, 1, log[row : row + 1] if logged else self._no_log, 1 if logged else 2)

    def _walk_from_python(self, steps, log, log_every):
        """Do what `loops.walk` does, with a gait that is not compiled."""
        parts = self._workspace, self._world, self._state, self.timestep
        done = 0
        while done < steps:
            if self._since_command == 0:
                self.gait.sense(*roll_pitch_yaw(self._state.rotation))
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


def add_payload(shared, mass, position):
    """Add a point mass [kg] at position (3,) in base_link [m] to the main body of a workspace's shared memory."""
    x, y, z = position
    shared[BODY] += mass
    shared[BODY + 1 : BODY + 4] += mass * np.asarray(position)
    inertia = mass * np.array([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z])
    shared[BODY + 4 : BODY + 10] += inertia


def _number(name, value, unit):
    """Return a finite number, or refuse it by its name."""
    number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not number or not np.isfinite(value):
        raise HexapodError(f"{name}: given {value!r}, a finite number [{unit}] is needed")
    return float(value)


def _count(name, value, least):
    """Return a whole number from `least` on, or refuse it by its name."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < least:
        raise HexapodError(f"{name}: given {value!r}, allowed are whole numbers from {least}")
    return int(value)


def _checked(name, value, shape):
    try:
        given = np.asarray(value)
        value = given.astype(float)
    except (TypeError, ValueError):
        raise HexapodError(f"{name}: finite numbers of shape {shape} are needed, given {value!r}") from None
    if np.iscomplexobj(given):
        raise HexapodError(f"{name}: real numbers are needed, given {given.tolist()}")
    if value.shape != shape or not np.isfinite(value).all():
        raise HexapodError(f"{name}: finite numbers of shape {shape} are needed, given {value.tolist()}")
    return value
