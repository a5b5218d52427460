"""The simulated robot: whole-body model, contacts and servos, driven by a gait or by external commands."""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.se3 import cross, rotation_vector
from hexapod_dynamics.simulation.robot_simulator import RobotSimulator
from hexapod_dynamics.simulation.servo_law import ServoLaw
from hexapod_dynamics.simulation.truth import Truth


class Simulator(RobotSimulator):
    """A Robot on the ground, stepped by this package's own model; arguments: see `RobotSimulator`.

    The gait commands the servos in each step by default.
    """

    def _build(self) -> None:
        if self.ground.patches:
            raise HexapodError(f"{self.ground} given, patches need a MujocoSimulator")
        self._model.drive["dead_band"] = self._band
        if self._law is not None:
            servos = self._model.servos
            servos["holds"], servos["damping"], servos["viscous"] = 1.0, self._law.damping, self._law.viscous
        self._mean_acceleration, self._inertial = np.zeros_like(self.nu), np.zeros_like(self.nu)

    @classmethod
    def check_truth(cls, truth: Truth) -> None:
        """Raise HexapodError for grounds with edges or patches."""
        if truth.terrain != "flat" and not truth.terrain.startswith("slope"):
            raise HexapodError(f"truth: ground={truth.terrain} given, which needs physics:=mujoco")

    def _settle(self, *, on_ground: bool) -> None:
        if on_ground:
            self.position[2] = self._model.resting_height()
        self._model.forget()
        if self._law is not None:
            self._model.servos["sliding"] = self._model.servos["friction"] = 0.0
        self._mean_acceleration[:] = 0.0

    def _adopt_morphology(self) -> None:
        self._model.set_morphology(self._true_morphology)

    def _specific_force(self) -> np.ndarray:
        nu, acceleration = self.nu, self._mean_acceleration
        w, r = nu[3:6], self.robot.imu.position
        linear = acceleration[:3] + cross(w, nu[:3]) + cross(acceleration[3:6], r) + cross(w, cross(w, r))
        return linear + self.robot.gravity * self.rotation[2]

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def _run(self, steps: int, log: np.ndarray, log_every: int) -> None:
        before, attitude = self.nu.copy(), self.rotation.copy()
        model, gait = self._model, self.gait
        one_by_one = self._law is not None or self.truth.delay > 0.0
        tick = None if gait is None else gait.compiled
        if not one_by_one and (gait is None or (tick is not None and not self.truth.zero)):
            timing = self._since_command, self._command_steps, self._resolution
            self._since_command = model.walk(tick, self.timestep, steps, *timing, log, log_every)
            self._steps += steps
        else:
            self._run_from_python(steps, log, log_every, one_by_one)
        if steps > 0:
            np.subtract(self.nu, before, out=self._mean_acceleration)
            self._mean_acceleration /= steps * self.timestep
            # The constant rate that yields the rotation, which is below half a turn.
            self._mean_rate[:] = rotation_vector(attitude.T @ self.rotation) / (steps * self.timestep)
        self._check_divergence()

    def _run_from_python(self, steps: int, log: np.ndarray, log_every: int, one_by_one: bool) -> None:
        """Do what `Simulation.walk` does, with a gait that is not compiled, or step by step with a Truth whose servos
        are no springs, or are late.
        """
        done = 0
        while done < steps:
            if self.gait is not None and self._since_command == 0:
                self._command_from(self.gait)
            self._execute_delayed()
            if self._law is not None and self._steps % self._loop_steps == 0:
                self._run_loops(self._law)
            to_log = log_every - done % log_every
            taken = min(1 if one_by_one else steps - done, to_log)
            if self.gait is not None:
                taken = min(taken, self._command_steps - self._since_command)
                self._since_command = (self._since_command + taken) % self._command_steps
            done += taken
            row, logged = done // log_every, taken == to_log
            rows = log[row - 1 : row] if logged else self._no_log
            self._model.walk(None, self.timestep, taken, 0, 1, 0.0, rows, taken if logged else taken + 1)
            self._steps += taken

    def _run_loops(self, law: ServoLaw) -> None:
        """Compute the position loops, and the limits of dry friction, at the present state."""
        servos, h = self._model.servos, self.timestep
        law.follow(self.q)
        # The next step moves the set-points first.
        setpoints, furthest = servos["setpoint"], servos["speed"] * h
        motion = np.clip(servos["target"] - setpoints, -furthest, furthest)
        servos["held"] = law.compute_torques(setpoints + motion, motion / h)
        if not law.scale:
            return
        # Torque of everything but the servo: what accelerates the joint, less what the servo and its gear give.
        self._model.inertial(self._model.acceleration, self._inertial)
        others = self._inertial[6:] - servos["torque"] + servos["friction"]
        servos["dry"] = law.compute_dry_friction(servos["torque"], others, self.nu[6:])
