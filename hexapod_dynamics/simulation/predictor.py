"""Predicts the motion of the robot under commanded servos, step by step and over a horizon, without allocation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.array_checks import as_array, as_numbers
from hexapod_dynamics.dynamics.checks import as_rotation
from hexapod_dynamics.errors import HexapodError, require_positive
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.world import SteppedModel


class Predictor(SteppedModel):
    """Steps the model of a robot under commanded servos and predicts a horizon; all arrays are allocated once.

    timestep [s] of `advance`; horizon_steps: number of periods that `roll_out` predicts, each `horizon_period` [s]
    long and computed in steps of about horizon_timestep [s].

    position (3,), rotation (3, 3), q (n,), nu (6 + n,), setpoints (n,) are the state itself and may be read and
    modified in place. path_positions (K, 3), path_rotations (K, 3, 3), path_joints (K, n) hold the last roll-out.
    """

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology | None = None,
        timestep: float = 2e-3,
        *,
        horizon_steps: int = 25,
        horizon_period: float = 0.02,
        horizon_timestep: float = 5e-3,
        ground: Ground | None = None,
    ) -> None:
        times = {"timestep": timestep, "horizon_period": horizon_period, "horizon_timestep": horizon_timestep}
        require_positive(times | {"horizon_steps": horizon_steps})
        if horizon_steps != int(horizon_steps):
            raise HexapodError(f"horizon_steps: given {horizon_steps!r}, a whole number is needed")
        super().__init__(robot, morphology or Morphology.whole(robot), ground or Ground())
        self.timestep = float(timestep)
        self.horizon_period = float(horizon_period)
        self._pieces = max(1, round(horizon_period / horizon_timestep))
        steps = int(horizon_steps)
        self.path_positions, self.path_rotations = np.zeros((steps, 3)), np.zeros((steps, 3, 3))
        self.path_joints = np.zeros((steps, robot.joint_count))

    @property
    def setpoints(self) -> np.ndarray:
        """Present set-points of the servos (n,) [rad]."""
        return self.servos["setpoint"]

    @property
    def joint_torques(self) -> np.ndarray:
        """Torques of the servos in the last step (n,) [N m]."""
        return self.servos["torque"]

    def set_state(
        self,
        position: np.ndarray,
        rotation: np.ndarray,
        q: np.ndarray,
        nu: np.ndarray,
        setpoints: np.ndarray | None = None,
    ) -> None:
        """Set position (3,) [m], rotation (3, 3), q (n,) [rad], nu (6 + n,); servos at setpoints (n,), by default at
        q.
        """
        joints = self.q.shape
        checked = as_array("position", position, (3,)), as_numbers("q", q, joints), as_array("nu", nu, self.nu.shape)
        servos = None if setpoints is None else as_numbers("setpoints", setpoints, joints)
        self.rotation[:] = as_rotation("rotation", rotation)
        self.position[:], self.q[:], self.nu[:] = checked
        self.apply_joint_constraints()
        self.settle_servos_at(self.q if servos is None else servos)

    @property
    def slope(self) -> np.ndarray:
        """Slope of the model's ground along x and y (2,), rise over run."""
        return np.concatenate([self.plane[name] for name in ("slope_x", "slope_y")])

    @property
    def level(self) -> float:
        """Height [m] of the ground's plane at the world's origin."""
        return self.plane["level"].item()

    def ground_height(self, x: float, y: float) -> float:
        """Height [m] of the ground's plane at (x, y) [m]."""
        along_x, along_y, *_, level = self.plane.item()
        return level + along_x * x + along_y * y

    @property
    def height(self) -> float:
        """Height [m] of base_link's origin over the ground below it."""
        x, y, z = self.position.tolist()
        return z - self.ground_height(x, y)

    def tilt_ground(self, turn: Sequence[float] | np.ndarray) -> None:
        """Turn the ground about the point below the robot by a small rotation vector in world axes [rad].

        Only the x and y components of the vector are used. The robot does not move: only the ground ahead of and
        behind it rises and falls.
        """
        along_x, along_y = self.slope.tolist()
        self.tilt_ground_to((along_x - turn[1], along_y + turn[0]))

    def tilt_ground_to(self, slope: Sequence[float] | np.ndarray) -> None:
        """Turn the ground about the point below the robot to a slope (2,), rise over run."""
        x, y, _ = self.position.tolist()
        self.set_ground(slope, x, y, self.ground_height(x, y))

    def set_ground(self, slope: Sequence[float] | np.ndarray, x: float, y: float, height: float) -> None:
        """Set the ground to the plane with a slope (2,), rise over run, and a height [m] at (x, y) [m]."""
        along_x, along_y = (max(-0.4, min(0.4, float(each))) for each in slope)  # the model's ground is no steeper
        plane = self.plane
        plane["slope_x"], plane["slope_y"], plane["level"] = along_x, along_y, height - along_x * x - along_y * y

    def set_dead_band(self, band: float) -> None:
        """Set the dead band of the model's servos [rad]."""
        self.drive["dead_band"] = band

    def set_velocity_feed_forward(self, share: float) -> None:
        """Set the share, 0 to 1, of the set-points' rates that the model's servos feed forward."""
        self.drive["feed_forward"] = share

    def advance(
        self, duration: float, targets: np.ndarray | None = None, command_duration: float | None = None
    ) -> None:
        """Advance by a duration [s], in equal steps no longer than `timestep`.

        targets (n,) [rad]: commanded now, to be reached after command_duration [s] (by default `duration`);
        without targets the servos continue with their last commands.
        """
        reach = duration if command_duration is None else command_duration
        require_positive({"duration": duration, "command_duration": reach}, zero=True)
        if targets is not None:
            self.command(as_numbers("targets", targets, self.q.shape), reach, 0.0)
        if duration > 0.0:  # a step without length has no rates
            steps = max(1, int(np.ceil(duration / self.timestep - 1e-6)))
            self.run_steps(duration / steps, steps)

    def roll_out(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict under the targets (K, n) [rad], K at most `horizon_steps`, one per horizon period; the state does not
        change.

        Returns views of path_positions (K, 3), path_rotations (K, 3, 3) and path_joints (K, n).
        """
        targets, most = np.asarray(targets), len(self.path_joints)
        count = min(len(targets), most) if targets.ndim else most
        targets = as_array("targets", targets, (count, len(self.q)), f"; at most {most} rows")
        positions, rotations = self.path_positions[:count], self.path_rotations[:count]
        joints = self.path_joints[:count]
        self.predict(
            targets,
            self.horizon_period,
            self.horizon_period / self._pieces,
            self._pieces,
            positions,
            rotations,
            joints,
        )
        return positions, rotations, joints
