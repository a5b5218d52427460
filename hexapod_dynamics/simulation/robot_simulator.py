"""Base class of the simulators: arguments, pose, servo commands, gait, logs."""

from __future__ import annotations

import copy
import numbers
from abc import ABC, abstractmethod
from collections import deque

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array, as_numbers
from hexapod_dynamics.dynamics.checks import as_rotation, check_joint, require_robot
from hexapod_dynamics.errors import DivergedError, HexapodError, require_finite, require_instance, require_positive
from hexapod_dynamics.gait import Gait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.servo_law import LOOP_PERIOD, ServoLaw
from hexapod_dynamics.simulation.trajectory import Log, split
from hexapod_dynamics.simulation.truth import Truth
from hexapod_dynamics.simulation.world import SteppedModel, place_returned


class RobotSimulator(ABC):
    """A Robot on the ground, in time steps of `timestep` [s].

    morphology: by default that of the intact robot. gait: a Gait; a copy of it, the attribute `gait`, moves the
    robot, from the steady nominal walk, or from its present state if it has been commanded before. Steer it with
    `simulator.gait.command`. Without a gait, the servos follow `command`. ground: a Ground, level by default.
    command_period [s]: time between two commands of the gait to the servos; None: that of the physics. quantised:
    whether commands are rounded to the servos' resolution. truth: a Truth, how the simulated robot differs from
    `robot`; without the argument ground, the ground of the Truth is used.

    The world frame starts under the robot, x forward and z up, with level ground at z = 0. Every array has entries
    for all joints of the robot, even for missing ones.
    """

    COMMAND_PERIOD: float | None = None  # [s] by default; None: a time step

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology | None = None,
        gait: Gait | None = None,
        timestep: float = 1e-3,
        *,
        ground: Ground | None = None,
        command_period: float | None = None,
        quantised: bool = False,
        truth: Truth | None = None,
    ) -> None:
        period = (self.COMMAND_PERIOD or timestep) if command_period is None else command_period
        require_positive({"timestep": timestep, "command_period": period})
        if timestep > 0.02:  # [s]; longer steps are stable, but too coarse for a walk
            raise HexapodError(f"timestep: given {timestep!r} s, at most 0.02 s is allowed")
        self._command_steps = max(1, round(period / timestep))
        if abs(self._command_steps * timestep - period) > 1e-9 * period:
            raise HexapodError(f"command_period: given {period} s, needed: a multiple of timestep {timestep}")
        self.robot, n = robot, require_robot(robot).joint_count
        self.timestep = float(timestep)
        self.truth = Truth() if truth is None else truth
        require_instance("truth", self.truth, Truth)
        self.check_truth(self.truth)
        self.ground = self.truth.make_ground() if ground is None else ground
        self.morphology = Morphology.whole(robot) if morphology is None else morphology
        self._true_robot = self.truth.robot(robot)
        self._true_morphology = self.truth.morphology(self.morphology, robot, self._true_robot)
        self.gait = None if gait is None else self._start_gait(gait)
        self._resolution = robot.servo.resolution if quantised else 0.0
        self._zeros = self.truth.zeros(n)
        self._mounted = self.truth.imu_rotation()
        self._band = self.truth.deadband * robot.servo.resolution
        self._law = ServoLaw(self.truth, self._true_robot.servo, n) if self.truth.servo_law else None
        self._loop_steps = max(1, round(LOOP_PERIOD / self.timestep))  # between two loops of the law
        # Commands under way: the time at which they are due, the name of the model's method, its arguments.
        self._delayed: deque[tuple[float, str, tuple[object, ...]]] = deque()
        self._steps = self._since_command = 0
        self._mean_rate = np.zeros(3)
        payload = self.truth.payload, self.truth.payload_position
        self._model = SteppedModel(self._true_robot, self._true_morphology, self.ground, payload)
        self._no_log = np.empty((0, self._model.row_width))
        self._build()
        self.reset()

    def __copy__(self) -> RobotSimulator:
        return copy.deepcopy(self)  # a shallow copy would share the state

    @classmethod
    def check_truth(cls, truth: Truth) -> None:
        """Raise HexapodError for a Truth that this physics cannot simulate."""
        return

    def _start_gait(self, gait: Gait) -> Gait:
        """Return a copy of the gait for this robot, in its nominal walk unless it has been commanded."""
        require_instance("gait", gait, Gait)
        gait = gait.copy()
        if not gait.is_bound or gait.robot != self.robot:
            gait.bind(self.robot)
        if not gait.commanded:
            gait.reset(walking=True)
        gait.set_morphology(self.morphology)
        gait.step(0.0)
        return gait

    # ---- what each simulator does in its own way ---------------------------------------------------------------------

    @abstractmethod
    def _build(self) -> None:
        """Prepare this physics; `_model` has the state and the servos of the true robot."""

    @abstractmethod
    def _settle(self, *, on_ground: bool) -> None:
        """Adopt the state; on_ground: at the height at which the lowest point just touches the ground."""

    @abstractmethod
    def _adopt_morphology(self) -> None:
        """Adopt the true morphology and the joints of restored parts."""

    @abstractmethod
    def _run(self, steps: int, log: np.ndarray, log_every: int) -> None:
        """Simulate a number of steps and write a row of the log (rows, row_width) every `log_every` steps."""

    def _contact_forces(self) -> tuple[np.ndarray, np.ndarray]:
        """Return `foot_forces` and `ground_force`."""
        return self._model.foot_forces, self._model.ground_force

    @abstractmethod
    def _specific_force(self) -> np.ndarray:
        """`specific_force` of an IMU that is mounted as described."""

    # ---- state -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        position: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        joints: npt.ArrayLike | None = None,
    ) -> None:
        """Put the robot at rest: servos at the joints (n,) [rad], body at position (3,) [m] and rotation (3, 3).

        By default the joints are at the positions of the gait (zero without a gait), the body is upright over the
        origin, at the height at which the lowest point just touches the ground. Time restarts at zero.
        """
        n = self.robot.joint_count
        if joints is None:
            joints = np.zeros(n) if self.gait is None else self.gait.position
        angles = as_array("joints", joints, (n,))
        turn = np.eye(3) if rotation is None else as_rotation("rotation", rotation)
        place = None if position is None else as_array("position", position, (3,))
        self.rotation[:], self.q[:], self.nu[:] = turn, angles, 0.0
        self._model.apply_joint_constraints()
        self._model.settle_servos_at(self.q)
        if self._law is not None:
            self._law.reset(self.q)
        self._delayed.clear()
        self._steps = self._since_command = 0
        self._mean_rate[:] = 0.0
        self.position[:] = 0.0 if place is None else place
        self._settle(on_ground=place is None)

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the morphology at once, between two steps; the gait, if there is one, adopts it, too.

        Removed parts take their momentum with them, restored parts start at rest and clear of the ground, and a
        joint that locks while it moves conserves the momentum of the robot.
        """
        before, after = self._true_morphology, self.truth.morphology(morphology, self.robot, self._true_robot)
        place = self.position, self.rotation, self.q
        place_returned(self._true_robot, before, after, *place, self.ground.height, longer=True)
        self.morphology, self._true_morphology = morphology, after
        self._adopt_morphology()
        if self.gait is not None:
            self.gait.set_morphology(morphology)

    def push(self, wrench: npt.ArrayLike) -> None:
        """Let an external wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self._model.push(as_array("wrench", wrench, (6,)))

    @property
    def position(self) -> np.ndarray:
        """Position (3,) of base_link in the world [m]."""
        return self._model.position

    @property
    def rotation(self) -> np.ndarray:
        """Rotation (3, 3) world <- base_link."""
        return self._model.rotation

    @property
    def q(self) -> np.ndarray:
        """Joint positions (n,) [rad], of all joints."""
        return self._model.q

    @property
    def nu(self) -> np.ndarray:
        """Body twist, linear first, and joint rates (6 + n,) [m/s, rad/s]."""
        return self._model.nu

    @property
    def joint_torques(self) -> np.ndarray:
        """Torques of the servos in the last step (n,) [N m]."""
        return self._model.servos["torque"]

    @property
    def foot_forces(self) -> np.ndarray:
        """Contact force (legs, 3) at the end of each leg's last link [N, world axes]."""
        return self._contact_forces()[0]

    @property
    def ground_force(self) -> np.ndarray:
        """Force (3,) of all contacts with the ground together [N, world axes]."""
        return self._contact_forces()[1]

    @property
    def specific_force(self) -> np.ndarray:
        """Measurement (3,) [m/s^2] of an accelerometer at the robot's IMU, in base_link axes, rotated by the
        mounting error of the Truth's IMU.

        This is the mean over the last call of `step` or `run`, because contacts make the acceleration of a single
        step noisy.
        """
        return self._mounted.T @ self._specific_force()

    @property
    def mean_angular_velocity(self) -> np.ndarray:
        """Angular velocity (3,) [rad/s] in base_link axes, rotated by the mounting error of the Truth's IMU; mean
        over the last call of `step` or `run`.

        It corresponds to a gyroscope's low-pass filter: feet strike the ground between two samples, and the sum of
        instantaneous rates would differ from the turn.
        """
        return self._mounted.T @ self._mean_rate

    # ---- running -----------------------------------------------------------------------------------------------------

    def step(self, steps: int = 1) -> None:
        """Simulate a number of steps without a log."""
        steps = count("steps", steps, 0)
        self._run(steps, self._no_log, steps + 1)

    def run(self, seconds: float, *, log_every: int = 1) -> Log:
        """Simulate for a time [s] and return the Log, with a row every `log_every` steps."""
        require_positive({"seconds": seconds}, zero=True)
        log_every = count("log_every", log_every, 1)
        steps = round(seconds / self.timestep)
        rows = steps // log_every
        log, first = np.empty((rows, self._model.row_width)), self._steps
        self._run(steps, log, log_every)
        time = (first + log_every * np.arange(1, rows + 1)) * self.timestep
        return split(time, log, self.robot.joint_count, len(self.robot.legs))

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self._steps * self.timestep

    @property
    def readings(self) -> np.ndarray:
        """Angles (n,) [rad] that the servos measure, not rounded, with the zero errors and the play of the Truth."""
        return (self.q if self._law is None else self._law.encoder) + self._zeros

    # ---- servos ------------------------------------------------------------------------------------------------------

    @property
    def setpoints(self) -> np.ndarray:
        """Present set-points of the servos (n,) [rad], as angles of the joints."""
        return self._model.servos["setpoint"]

    def command(self, targets: npt.ArrayLike, duration: float) -> None:
        """Send the servos to targets (n,) [rad], uniformly over the duration [s], within their speed limit.

        NaN: the servo keeps its command.
        """
        targets = as_numbers("targets", targets, self.q.shape)
        as_array("targets", targets, self.q.shape, ignored=np.isnan(targets))  # all are checked before a servo moves
        require_positive({"duration": duration})
        for joint in np.flatnonzero(~np.isnan(targets)):
            self.command_joint(int(joint), float(targets[joint]), duration)

    def command_joint(self, joint: int, target: float, duration: float) -> None:
        """Send the servo of one joint, by its index, to the target [rad] in the duration [s]; 0 s means full speed."""
        check_joint(self.robot, joint)
        require_finite(target=target)
        require_positive({"duration": duration}, zero=True)
        if self._resolution:
            target = round(target / self._resolution) * self._resolution
        self._execute("command_joint", joint, float(target - self._zeros[joint]), float(duration))

    def load_joint(self, joint: int, loaded: bool) -> None:
        """Switch the torque of one joint's servo on, with the set-point at the joint's position, or off."""
        check_joint(self.robot, joint)
        row = self._model.servos[joint]
        if loaded and row["loaded"] == 0.0:
            row["setpoint"] = row["target"] = self.q[joint]
            row["speed"] = 0.0
        row["loaded"] = 1.0 if loaded else 0.0

    def set_servos(self, setpoints: np.ndarray, targets: np.ndarray, left: np.ndarray, loaded: np.ndarray) -> None:
        """Set the servos to the state of external servos: set-points, targets (n,) [rad], remaining time (n,) [s].

        loaded (n,) bool: which servos exert torque. The angles are those that the servos measure.
        """
        # The rest of a motion takes at least one step.
        speeds = np.abs(targets - setpoints) / np.maximum(left, self.timestep)
        self._execute("set_servos", setpoints - self._zeros, targets - self._zeros, speeds, loaded)

    def _command_from(self, gait: Gait) -> None:
        """Command the servos with the gait's next set-points."""
        gait.sense(*roll_pitch_yaw(self.rotation))
        duration = self._command_steps * self.timestep
        targets = np.array(gait.step(duration)[0], float)
        if self._resolution:
            targets = np.round(targets / self._resolution) * self._resolution
        self._execute("command", targets - self._zeros, duration, 0.0)

    def _execute(self, method: str, *arguments: object) -> None:
        """Call a method of the model, by its name, now, or after the Truth's delay."""
        if self.truth.delay:
            self._delayed.append((self.time + self.truth.delay, method, arguments))
        else:
            getattr(self._model, method)(*arguments)

    def _execute_delayed(self) -> None:
        """Execute the commands that are due."""
        while self._delayed and self._delayed[0][0] <= self.time + 1e-9:
            _, method, arguments = self._delayed.popleft()
            getattr(self._model, method)(*arguments)

    def _check_divergence(self) -> None:
        # Before its numbers are not finite, a simulation that diverges has speeds [m/s, rad/s] that no robot has.
        if not (np.isfinite(self.position).all() and np.abs(self.nu).max() < 1e3):
            raise DivergedError(
                f"simulation diverged at {self.time:.3f} s with timestep {self.timestep} s; take a shorter one"
            )


def count(name: str, value: object, least: int) -> int:
    """Return a whole number >= `least`; HexapodError names another value."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < least:
        raise HexapodError(f"{name}: given {value!r}, allowed are whole numbers from {least}")
    return int(value)
