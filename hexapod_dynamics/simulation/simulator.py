"""The simulated robot: whole-body model, contacts and servos, driven by a gait or by external commands."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import Gait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import cross, rotation_vector
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.returned_parts import place_returned
from hexapod_dynamics.simulation.robot_simulator import RobotSimulator, checked, count
from hexapod_dynamics.simulation.servo_law import HeldServos, ServoLaw
from hexapod_dynamics.simulation.trajectory import row_width
from hexapod_dynamics.simulation.truth import Truth
from hexapod_dynamics.simulation.world import SteppedModel


class Simulator(RobotSimulator):
    """A Robot on the ground, stepped by this package's own model; arguments: see `RobotSimulator`.

    The gait commands the servos in each step by default.
    """

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
        super().__init__(robot, morphology, gait, timestep, ground, command_period, quantised, truth)
        payload = self.truth.payload, self.truth.payload_position
        self._model = SteppedModel(self._true_robot, self._true_morphology, self.ground, payload)
        self._state = self._model.state
        self._held: HeldServos | None = None
        if self.truth.has_servo_law:
            law = ServoLaw(self.truth, self._true_robot.servo, robot.joint_count)
            self._held = HeldServos(law, self._model, self.timestep)
        self._model.world.drive["dead_band"] = self.truth.deadband * robot.servo.resolution
        self._mean_acceleration, self._mean_rate = np.zeros(6 + robot.joint_count), np.zeros(3)
        self._no_log = np.empty((0, row_width(robot.joint_count, len(robot.legs))))
        self.reset()

    @classmethod
    def check_truth(cls, truth: Truth) -> None:
        """Raise HexapodError for grounds with edges or patches."""
        if truth.terrain != "flat" and not truth.terrain.startswith("slope"):
            raise HexapodError(f"truth: ground={truth.terrain} given, which needs physics:=mujoco")

    def __copy__(self) -> Simulator:
        return copy.deepcopy(self)  # a shallow copy would share the state

    def reset(
        self,
        *,
        position: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        joints: npt.ArrayLike | None = None,
    ) -> None:
        """Put the robot at rest; see `RobotSimulator.reset`."""
        place, turn, angles = self._checked_pose(position, rotation, joints)
        model, state = self._model, self._model.state
        state.q[:], state.rotation[:], state.nu[:] = angles, turn, 0.0
        model.apply_joint_constraints()
        model.settle_servos_at(state.q)
        if self._held is not None:
            self._held.reset()
        state.position[:] = 0.0 if place is None else place
        if place is None:
            state.position[2] = model.resting_height()
        self._delayed.clear()
        self._steps = self._since_command = 0
        model.forget()
        self._mean_acceleration[:] = 0.0
        self._mean_rate[:] = 0.0

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the morphology at once, between two steps.

        Removed parts take their momentum with them, restored parts start at rest and clear of the ground, and a
        joint that locks while it moves conserves the momentum of the robot. The gait adopts the
        morphology, too.
        """
        self._true_morphology = self.truth.morphology(morphology, self._true_robot)
        state, before = self._model.state, self._model.morphology
        place = state.position, state.rotation, state.q
        place_returned(self._true_robot, before, self._true_morphology, *place, self.ground.height, longer=True)
        self._model.set_morphology(self._true_morphology)
        self.morphology = morphology
        if self.gait is not None:
            self.gait.set_morphology(morphology)

    def step(self, steps: int = 1) -> None:
        """Simulate a number of steps without a log."""
        steps = count("steps", steps, 0)
        self._run(steps, self._no_log, steps + 1)

    def push(self, wrench: npt.ArrayLike) -> None:
        """Let an external wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self._model.push(checked("wrench", wrench, (6,)))

    @property
    def joint_torques(self) -> np.ndarray:
        """Torques of the servos in the last step (n,) [N m]."""
        return self._model.world.servos["torque"]

    @property
    def foot_forces(self) -> np.ndarray:
        """Contact force (legs, 3) at the end of each leg's last link [N, world axes]."""
        return self._model.world.foot_forces

    @property
    def ground_force(self) -> np.ndarray:
        """Force (3,) of all contacts together [N, world axes]."""
        return self._model.world.ground_force

    def _specific_force(self) -> np.ndarray:
        nu, acceleration = self.nu, self._mean_acceleration
        w, r = nu[3:6], self.robot.imu.position
        linear = acceleration[:3] + cross(w, nu[:3]) + cross(acceleration[3:6], r) + cross(w, cross(w, r))
        return linear + self.robot.gravity * self.rotation[2]

    def _mean_angular_velocity(self) -> np.ndarray:
        # The constant rate that yields the rotation of the last call, which is below half a turn.
        return self._mean_rate

    def _encoders(self) -> np.ndarray:
        return self.q if self._held is None else self._held.law.encoder

    @property
    def _servo_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return self._model.world.servos, self._model.world.drive

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def _run(self, steps: int, log: np.ndarray, log_every: int) -> None:
        before, attitude = self.nu.copy(), self.rotation.copy()
        if self.gait is None:
            self._follow(steps, log, log_every)
        elif (
            (tick := self.gait.compiled) is not None
            and self._held is None
            and not (self.truth.delay or self.truth.zero)
        ):
            self._since_command = self._model.compiled.walk(
                tick,
                self.timestep,
                steps,
                self._since_command,
                self._command_steps,
                self._resolution,
                log,
                log_every,
            )
            self._steps += steps
        else:
            self._walk_from_python(self.gait, steps, log, log_every)
        if steps > 0:
            np.subtract(self.nu, before, out=self._mean_acceleration)
            self._mean_acceleration /= steps * self.timestep
            self._mean_rate[:] = rotation_vector(attitude.T @ self.rotation) / (steps * self.timestep)
        self._check_finite()

    def _follow(self, steps: int, log: np.ndarray, log_every: int) -> None:
        """Step; execute delayed commands when they are due, and run the servos' loops."""
        follow, h = self._model.compiled.follow, self.timestep
        if self._held is None and not self.truth.delay:
            follow(h, steps, log, log_every)
            self._steps += steps
            return
        for k in range(steps):
            self._delayed.execute(self.time, *self._servo_arrays)
            if self._held is not None and self._steps % self._held.loop_steps == 0:
                self._held.run_loops()
            row = (k + 1) // log_every - 1
            logged = (k + 1) % log_every == 0 and len(log) > 0
            follow(h, 1, log[row : row + 1] if logged else self._no_log, 1 if logged else 2)
            self._steps += 1

    def _walk_from_python(self, gait: Gait, steps: int, log: np.ndarray, log_every: int) -> None:
        """Do what `Simulation.walk` does, with a gait that is not compiled or a Truth whose servos are no springs, err
        or are late.
        """
        done = 0
        while done < steps:
            if self._since_command == 0:
                self._command_from(gait)
            taken = min(steps - done, self._command_steps - self._since_command)
            to_log = log_every - done % log_every
            if to_log <= taken:
                taken = to_log
                row = (done + taken) // log_every - 1
                self._follow(taken - 1, self._no_log, taken)
                self._follow(1, log[row : row + 1], 1)
            else:
                self._follow(taken, self._no_log, taken + 1)
            done += taken
            self._since_command = (self._since_command + taken) % self._command_steps
